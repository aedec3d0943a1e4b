#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "linalg/grid_operator.hpp"
#include "linalg/rows.hpp"

namespace uzushio::linalg {

template <class T>
void GridOperator<T>::set_coefficient(std::shared_ptr<const domain::Field<double>> b,
                                      parallel::Traffic& traffic) {
    const bool fits = b->spec().centring == domain::Centring::face && b->spec().components == 1 &&
                      b->blocks() == shape_.blocks();
    bool valid = true;
    const auto for_faces = [&](auto&& visit) {
        for (std::size_t block = 0; fits && block < b->blocks(); ++block)
            for (std::size_t a = 0; a < b->arrays(); ++a)
                visit(block, a, b->view(block, a));
    };
    for_faces([&](std::size_t block, std::size_t a, const auto& view) {
        for_indices(b->owned(block, a), [&](const domain::Index<3>& i) {
            valid = valid && view(i) >= 0 && std::isfinite(view(i));
        });
    });
    std::array<int, 2> all{fits ? 1 : 0, valid ? 1 : 0};
    MPI_Allreduce(MPI_IN_PLACE, all.data(), 2, MPI_INT, MPI_MIN, comm_);
    if (all[0] == 0)
        throw std::invalid_argument("the coefficient b of an equation is a face-centred field with "
                                    "one component on the equation's decomposition");
    if (all[1] == 0)
        throw std::invalid_argument("the coefficient b of an equation has values that are negative "
                                    "or not finite");
    if constexpr (std::is_same_v<T, double>) {
        b_ = std::move(b);
    } else {
        domain::FieldSpec spec = b->spec();
        spec.ghosts = ghosts();
        const auto copy = std::make_shared<Field>(decomposition(), rank_, spec);
        for_faces([&](std::size_t block, std::size_t a, const auto& view) {
            copy_cells(view, copy->view(block, a), b->owned(block, a));
        });
        domain::HaloExchange<T>(comm_, decomposition(), {spec}, domain::Reach::corners, traffic)
            .exchange(*copy);
        b_ = copy;
    }
}

template <class T> void GridOperator<T>::set_inverse() {
    for (std::size_t block = 0; block < b_->blocks(); ++block) {
        auto& views = b_of_block_.emplace_back();
        for (std::size_t a = 0; a < b_->arrays(); ++a)
            views[a] = b_->view(block, a);
    }
    const auto inverse = std::make_shared<Field>(field());
    for_rows([&](const auto& row) {
        T* out = row_of(*inverse, row);
        for (std::int64_t n = 0; n < row.size; ++n)
            out[n] = row.inverse(n);
    });
    halo_.exchange(*inverse);
    inverse_ = inverse;
    for (std::size_t block = 0; block < inverse_->blocks(); ++block)
        inverse_of_block_.push_back(inverse_->view(block).data());
}

template void GridOperator<double>::set_coefficient(std::shared_ptr<const domain::Field<double>>,
                                                    parallel::Traffic&);
template void GridOperator<float>::set_coefficient(std::shared_ptr<const domain::Field<double>>,
                                                   parallel::Traffic&);
template void GridOperator<double>::set_inverse();
template void GridOperator<float>::set_inverse();

} // namespace uzushio::linalg
