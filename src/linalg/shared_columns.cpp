#include "linalg/shared_columns.hpp"

#include "domain/strided_copy.hpp"

namespace uzushio::linalg {

namespace {

/// Copy the values of a box between two arrays.
template <class T>
void copy(const domain::View<T>& from, const domain::View<double>& to, const domain::Box<3>& box) {
    domain::StridedCopy(box.extents(), 1)
        .run(from.data(), {from.offset(box.lower), from.strides(), 0}, to.data(),
             {to.offset(box.lower), to.strides(), 0});
}

} // namespace

SharedColumns::SharedColumns(const parallel::Communicator& comm, const StageLayout& columns)
    : rank_(comm.rank()), ranks_(comm.size()), layout_(columns),
      memory_(comm, sizeof(double) * static_cast<std::size_t>(columns.box(rank_).volume())) {}

domain::View<double> SharedColumns::columns_of(int rank) const {
    return {reinterpret_cast<double*>(memory_.of(rank)), layout_.box(rank), 1};
}

void SharedColumns::begin() const {
    if (last_)
        memory_.wait(*last_);
}

void SharedColumns::put(const domain::View<const double>& planes, const domain::Box<3>& box) const {
    for (int rank = 0; rank < ranks_; ++rank)
        if (const auto part = intersect(box, layout_.box(rank)); !part.empty())
            copy(planes, columns_of(rank), part);
}

void SharedColumns::get(const domain::View<double>& planes, const domain::Box<3>& box) const {
    for (int rank = 0; rank < ranks_; ++rank)
        if (const auto part = intersect(box, layout_.box(rank)); !part.empty())
            copy(columns_of(rank), planes, part);
}

} // namespace uzushio::linalg
