#include "linalg/grid_operator.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "linalg/linear_solver.hpp"
#include "linalg/rows.hpp"

namespace uzushio::linalg {

namespace {

int rank_of(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

/// Return whether the cells at both ends of an axis are neighbours and have the same colour.
bool is_odd(const Axis& axis) { return axis.used && axis.periodic() && axis.cells() % 2 != 0; }

/// Return the ghosts of a field. Multigrid cycles, in single precision, interpolate from those
/// beyond edges and corners too.
template <class T> domain::Reach reach_of() {
    return std::is_same_v<T, float> ? domain::Reach::corners : domain::Reach::faces;
}

} // namespace

template <class T>
GridOperator<T>::GridOperator(MPI_Comm comm, const Equation& equation, parallel::Traffic& traffic,
                              parallel::SectionMonitor& sections, int ghosts)
    : comm_(comm), rank_(rank_of(comm)), equation_(equation), axes_(axes_of(equation)),
      singular_(is_singular(equation)), spec_{.name = "x", .ghosts = ghosts},
      shape_(decomposition(), rank_, spec_),
      halo_(comm, decomposition(), {spec_}, reach_of<T>(), traffic), sections_(&sections) {
    for (std::size_t block = 0; block < shape_.blocks(); ++block) {
        cells_ += static_cast<double>(shape_.owned(block).volume());
        views_.push_back(shape_.view(block));
    }
    colours_alternate_ = std::none_of(axes_.begin(), axes_.end(), is_odd);
    set_couplings();
    const auto longest = static_cast<std::size_t>(axes_[0].cells() + 2 * ghosts);
    buffers_.assign(static_cast<std::size_t>(thread_count()),
                    {.residual = std::vector<T>(longest), .inverse = std::vector<T>(longest)});
    for (std::size_t n = 0; n <= longest; ++n)
        chosen_.push_back(static_cast<T>(n % 2 == 0 ? 1 : 0));
    if (equation.b) {
        set_coefficient(std::exchange(equation_.b, nullptr), traffic);
        set_inverse();
    }
    find_isolated();
    if constexpr (std::is_same_v<T, double>)
        if (b_ && equation.s == 0)
            regions_ = ClosedRegions(comm_, equation, *b_, axes_, spec_, rank_, traffic);
}

template <class T> void GridOperator<T>::set_couplings() {
    for (std::size_t a = 0; a < 3; ++a) {
        const Axis& axis = axes_[a];
        Couplings& c = couplings_[a];
        for (int at = -ghosts(); at < axis.cells() + ghosts(); ++at) {
            // Ghosts beyond a boundary are not computed: any value.
            const int cell = axis.periodic() ? (at % axis.cells() + axis.cells()) % axis.cells()
                                             : std::clamp(at, 0, axis.cells() - 1);
            const double width = axis.widths[static_cast<std::size_t>(cell)];
            const bool first = cell == 0 && !axis.periodic();
            const bool last = cell + 1 == axis.cells() && !axis.periodic();
            c.lower_all.push_back(static_cast<T>(axis.reciprocal_distance(cell) / width));
            c.upper_all.push_back(static_cast<T>(axis.reciprocal_distance(cell + 1) / width));
            c.lower.push_back(first ? T(0) : c.lower_all.back());
            c.upper.push_back(last ? T(0) : c.upper_all.back());
            c.centre.push_back(c.lower_all.back() + c.upper_all.back());
        }
    }
}

template <class T> void GridOperator<T>::find_isolated() {
    volume_ = 1;
    for (const Axis& axis : axes_)
        volume_ *= std::accumulate(axis.widths.begin(), axis.widths.end(), 0.0);
    isolated_.resize(shape_.blocks());
    if (!b_ || equation_.s > 0)
        return;
    const auto volume = integral([&](const auto& row) {
        return [&](std::int64_t n) { return row.centre(n) > 0 ? 1.0 : 0.0; };
    });
    volume_ = parallel::sum_over_ranks(volume, comm_);
    std::vector<std::vector<std::vector<std::int64_t>>> isolated_by_thread(buffers_.size(),
                                                                           isolated_);
    for_rows([&](const auto& row) {
        auto& of_thread = isolated_by_thread[static_cast<std::size_t>(row.thread)][row.block];
        for (std::int64_t n = 0; n < row.size; ++n)
            if (!(row.centre(n) > 0))
                of_thread.push_back(row.at + n);
    });
    for (const auto& blocks : isolated_by_thread)
        for (std::size_t block = 0; block < blocks.size(); ++block)
            isolated_[block].insert(isolated_[block].end(), blocks[block].begin(),
                                    blocks[block].end());
}

template <class T> void GridOperator<T>::clear_isolated(Field& x) const {
    for (std::size_t block = 0; block < isolated_.size(); ++block)
        for (const std::int64_t at : isolated_[block])
            x.view(block).data()[at] = 0;
}

template <class T> const T* GridOperator<T>::inverse_of_row(const ConstantRow<T>& row) const {
    // Rows of a plane, or of all planes, have the same one where cells are equal.
    RowBuffers& buffers = buffers_[static_cast<std::size_t>(row.thread)];
    if (buffers.centre_jk != row.centre_jk) {
        const std::vector<T>& centre = couplings_[0].centre;
        for (std::size_t i = 0; i < centre.size(); ++i)
            buffers.inverse[i] = inverse_of(centre[i] + row.centre_jk);
        buffers.centre_jk = row.centre_jk;
    }
    return buffers.inverse.data() + row.begin + ghosts();
}

template <class T> domain::Box<3> GridOperator<T>::grown(std::size_t block, int layers) const {
    domain::Box<3> box = shape_.owned(block).grown(decomposition().mesh().layers(layers));
    for (std::size_t a = 0; a < 3; ++a)
        if (!axes_[a].periodic()) {
            box.lower[a] = std::max<std::int64_t>(box.lower[a], 0);
            box.upper[a] = std::min<std::int64_t>(box.upper[a], axes_[a].cells());
        }
    return box;
}

template <class T>
std::int64_t GridOperator<T>::rows_of_tile(const domain::Box<3>& cells, std::size_t stages) const {
    constexpr std::size_t cache = 768 * 1024; // of a second-level cache of 1 MiB
    const std::size_t arrays = b_ ? 3 + b_->arrays() : 2;
    const std::size_t row = static_cast<std::size_t>(cells.extent(0) + 2 * ghosts()) * sizeof(T);
    const auto rows = static_cast<std::int64_t>(cache / (row * arrays * (stages + 2)));
    return std::max<std::int64_t>(8, rows - (rows & 1));
}

template <class T>
ConstantRow<T> GridOperator<T>::constant_row(int thread, std::size_t block,
                                             const domain::Box<3>& cells, std::int64_t j,
                                             std::int64_t k) const {
    const domain::View<T>& view = views_[block];
    const auto i = static_cast<std::size_t>(cells.lower[0] + ghosts());
    const auto jj = static_cast<std::size_t>(j + ghosts());
    const auto kk = static_cast<std::size_t>(k + ghosts());
    const auto [x, y, z] = std::array{&couplings_[0], &couplings_[1], &couplings_[2]};
    return {.block = block,
            .begin = cells.lower[0],
            .j = j,
            .k = k,
            .size = cells.extent(0),
            .at = view.offset({cells.lower[0], j, k}),
            // No ghosts beyond an axis that the mesh does not have.
            .stride_j = axes_[1].used ? view.strides()[1] : 0,
            .stride_k = axes_[2].used ? view.strides()[2] : 0,
            .lower = x->lower.data() + i,
            .upper = x->upper.data() + i,
            .centre_i = x->centre.data() + i,
            .lower_j = y->lower[jj],
            .upper_j = y->upper[jj],
            .lower_k = z->lower[kk],
            .upper_k = z->upper[kk],
            .centre_jk = y->centre[jj] + z->centre[kk] + s(),
            .thread = thread};
}

template <class T>
VariableRow<T> GridOperator<T>::variable_row(int thread, std::size_t block,
                                             const domain::Box<3>& cells, std::int64_t j,
                                             std::int64_t k) const {
    VariableRow<T> row;
    static_cast<ConstantRow<T>&>(row) = constant_row(thread, block, cells, j, k);
    const auto i = static_cast<std::size_t>(row.begin + ghosts());
    const auto jj = static_cast<std::size_t>(j + ghosts());
    const auto kk = static_cast<std::size_t>(k + ghosts());
    row.lower_all = couplings_[0].lower_all.data() + i;
    row.upper_all = couplings_[0].upper_all.data() + i;
    row.lower_all_j = couplings_[1].lower_all[jj];
    row.upper_all_j = couplings_[1].upper_all[jj];
    row.lower_all_k = couplings_[2].lower_all[kk];
    row.upper_all_k = couplings_[2].upper_all[kk];
    row.s = s();
    const auto& b = b_of_block_[block];
    row.b_i = &b[0](row.begin, j, k);
    // Along an axis that the mesh does not have, any finite values: the couplings are 0.
    row.b_j = row.b_j_upper = row.b_k = row.b_k_upper = row.b_i;
    if (axes_[1].used) {
        row.b_j = &b[1](row.begin, j, k);
        row.b_j_upper = row.b_j + b[1].strides()[1];
    }
    if (axes_[2].used) {
        row.b_k = &b[2](row.begin, j, k);
        row.b_k_upper = row.b_k + b[2].strides()[2];
    }
    return row;
}

template <class T> void GridOperator<T>::apply(Field& x, Field& y) {
    exchange(x);
    const auto pass = section("matrix-vector product", 2, true);
    for_rows([&](const auto& of) {
        const auto row = of; // a copy stays in registers
        const T* __restrict in = row_of(x, row);
        T* __restrict out = row_of(y, row);
#pragma omp simd
        for (std::int64_t n = 0; n < row.size; ++n)
            out[n] = row.neighbours(in + n, n) - row.centre(n) * in[n];
    });
}

template <class T> void GridOperator<T>::residual(Field& x, const Field& f, Field& r) {
    exchange(x);
    const auto pass = section("residual", 3, true);
    for_rows([&](const auto& row) {
        const T* __restrict in = row_of(x, row);
        const T* __restrict right = row_of(f, row);
        T* __restrict out = row_of(r, row);
#pragma omp simd
        for (std::int64_t n = 0; n < row.size; ++n)
            out[n] = right[n] - row.neighbours(in + n, n) + row.centre(n) * in[n];
    });
}

template <class T>
template <class R>
double GridOperator<T>::residual_norm(Field& x, const Field& f, domain::Field<R>& r) {
    exchange(x);
    const auto pass = section("residual", 2 + double{sizeof(R)} / sizeof(T), true);
    const auto sum = sum_of_rows([&](const auto& row, auto& part) {
        residual_row(row, row_of(x, row), row_of(f, row), first_of(r, row), part);
    });
    return std::sqrt(parallel::sum_over_ranks(sum, comm_));
}

// Cells of one colour have neighbours of the other one alone, so the order does not matter. Changes
// of both are computed in vectors, and one is kept: that is faster than every second cell.
template <class T> void GridOperator<T>::relax(Field& x, const Field& f, int colour, T omega) {
    if (!colours_alternate_)
        return relax_across_ends(x, f, colour, omega);
    exchange(x);
    const auto pass = section("smoothing", 3, true, true);
    for_rows_in_place([&](const auto& row) {
        T* in = row_of(x, row);
        const T* right = row_of(f, row);
        prefetch_row(in + row.stride_k + row.stride_j, row.size);
        prefetch_row(right + row.stride_j, row.size);
        relax_row(row, in, right, colour, omega);
    });
}

// Along a periodic axis with an odd number of cells the first and the last one have the same
// colour. The last cells are therefore relaxed by themselves.
template <class T>
void GridOperator<T>::relax_across_ends(Field& x, const Field& f, int colour, T omega) {
    for (unsigned last = 0; last < 8; ++last) {
        bool exists = true;
        for (std::size_t a = 0; a < 3; ++a)
            exists = exists && ((last >> a & 1) == 0 || is_odd(axes_[a]));
        if (!exists)
            continue;
        exchange(x);
        const auto pass = section("smoothing", 3, true, true);
        for (std::size_t block = 0; block < shape_.blocks(); ++block) {
            domain::Box<3> cells = shape_.owned(block);
            for (std::size_t a = 0; a < 3; ++a) {
                const std::int64_t end = axes_[a].cells() - 1;
                if ((last >> a & 1) != 0)
                    cells.lower[a] = std::max(cells.lower[a], end);
                else if (is_odd(axes_[a]))
                    cells.upper[a] = std::min(cells.upper[a], end);
            }
            const auto visit = [&](const auto& row) {
                relax_row(row, row_of(x, row), row_of(f, row), colour, omega);
            };
            if (!cells.empty())
                visit_rows(0, block, cells, visit);
        }
    }
}

template <class T> void GridOperator<T>::jacobi(Field& x, const Field& f, Field& y, T omega) {
    exchange(x);
    const auto pass = section("smoothing", 3, true, true);
    for_rows([&](const auto& row) {
        const T* __restrict in = row_of(x, row);
        const T* __restrict right = row_of(f, row);
        const T* __restrict inverse = inverse_of_row(row);
        T* __restrict out = row_of(y, row);
#pragma omp simd
        for (std::int64_t n = 0; n < row.size; ++n) {
            const T value = (row.neighbours(in + n, n) - right[n]) * inverse[n];
            out[n] = in[n] + omega * (value - in[n]);
        }
    });
}

template <class T>
template <class Value>
parallel::CompensatedSum GridOperator<T>::integral(Value&& value) const {
    return sum_of_rows([&](const auto& row, auto& sum) { add_integral(sum, row, value(row)); });
}

template <class T>
parallel::CompensatedSum GridOperator<T>::partial_dot(const Field& a, const Field& b) const {
    return integral([&](const auto& row) {
        return [first = row_of(a, row), second = row_of(b, row)](std::int64_t n) {
            return static_cast<double>(first[n]) * static_cast<double>(second[n]);
        };
    });
}

template <class T> void GridOperator<T>::subtract_mean(double sum, Field& x) const {
    const T mean = volume_ > 0 ? static_cast<T>(sum / volume_) : T(0);
    for_rows([&](const auto& row) {
        T* values = row_of(x, row);
#pragma omp simd
        for (std::int64_t n = 0; n < row.size; ++n)
            values[n] -= mean;
    });
    clear_isolated(x);
}

template <class T> void GridOperator<T>::remove_mean(Field& x) const {
    const auto pass = section("reductions", 3);
    if constexpr (std::is_same_v<T, double>)
        if (!regions_.empty())
            return regions_.subtract_means(x);
    const auto sum = integral([&](const auto& row) {
        return [values = row_of(std::as_const(x), row)](int n) {
            return static_cast<double>(values[n]);
        };
    });
    subtract_mean(parallel::sum_over_ranks(sum, comm_), x);
}

template <class T> void GridOperator<T>::check_compatibility(Field& f) const {
    int invalid = 0;
    for (std::size_t block = 0; block < isolated_.size(); ++block)
        for (const std::int64_t at : isolated_[block])
            invalid |= f.view(block).data()[at] != 0 ? 1 : 0;
    if (b_)
        MPI_Allreduce(MPI_IN_PLACE, &invalid, 1, MPI_INT, MPI_MAX, comm_);
    if (invalid != 0)
        throw std::invalid_argument("the equation has no solution: the right-hand side is not 0 in "
                                    "a cell on all of whose faces b is 0; set it to 0 in such "
                                    "cells, or open a face");
    if (!singular())
        return;
    const auto pass = section("reductions", 3);
    if constexpr (std::is_same_v<T, double>)
        if (!regions_.empty()) {
            regions_.check(f);
            return regions_.subtract_means(f);
        }
    const auto sums = sums_of_rows<2>([&](const auto& row, auto& parts) {
        const T* values = row_of(std::as_const(f), row);
        add_integral(parts[0], row, [=](int n) { return static_cast<double>(values[n]); });
        add_integral(parts[1], row,
                     [=](int n) { return std::abs(static_cast<double>(values[n])); });
    });
    const double total = parallel::sum_over_ranks(sums[0], comm_);
    linalg::check_compatibility(total, parallel::sum_over_ranks(sums[1], comm_));
    subtract_mean(total, f);
}

template class GridOperator<double>;
template class GridOperator<float>;
template double GridOperator<double>::residual_norm(Field&, const Field&, domain::Field<double>&);
template double GridOperator<double>::residual_norm(Field&, const Field&, domain::Field<float>&);

} // namespace uzushio::linalg
