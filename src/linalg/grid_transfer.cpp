#include "linalg/grid_transfer.hpp"

#include <algorithm>

namespace uzushio::linalg {

GridTransfer::GridTransfer(const std::array<Axis, 3>& axes, const Coarsened& joined, int ghosts,
                           int threads, double factor)
    : ghosts_(ghosts), factor_(static_cast<float>(factor)),
      buffers_(static_cast<std::size_t>(threads),
               std::vector<float>(static_cast<std::size_t>(axes[0].cells() + 2 * ghosts + 2))) {
    for (std::size_t a = 0; a < 3; ++a)
        weights_[a] = weights_of(axes[a], joined[a], ghosts);
}

GridTransfer::Weights GridTransfer::weights_of(const Axis& axis, bool joined, int ghosts) {
    Weights weights;
    weights.joined = joined;
    const auto n = static_cast<std::int64_t>(axis.cells());
    const Axis coarse = joined ? coarse_axis(axis) : axis;
    const auto width = [](const Axis& of, std::int64_t cell) {
        const auto cells = static_cast<std::int64_t>(of.cells());
        return of.widths[static_cast<std::size_t>((cell + cells) % cells)];
    };
    for (std::int64_t at = -ghosts; at < n + ghosts; ++at) {
        // Ghosts beyond a boundary are not computed: any value.
        const std::int64_t i =
            axis.periodic() ? ((at % n) + n) % n : std::clamp<std::int64_t>(at, 0, n - 1);
        const std::int64_t c = weights.coarse(i);
        const double half = 0.5 * width(coarse, c);
        // Distance of the centres of the cell and of the coarse cell.
        const double offset = joined ? half - 0.5 * width(axis, i) : 0;
        const std::int64_t next = c + weights.side(i);
        const bool boundary = !axis.periodic() && (next < 0 || next >= coarse.cells());
        double own = 1;
        double neighbour = 0;
        if (!boundary) {
            neighbour = offset / (half + 0.5 * width(coarse, next));
            own = 1 - neighbour;
        } else if (axis.ends[next < 0 ? 0 : 1] == Condition::dirichlet) {
            own = 1 - offset / half;
        }
        weights.own.push_back(static_cast<float>(own));
        weights.neighbour.push_back(static_cast<float>(neighbour));
        weights.share.push_back(static_cast<float>(width(axis, i) / width(coarse, c)));
    }
    return weights;
}

template <class Row> void GridTransfer::add_to_coarse(const Row& row, const View& coarse) const {
    const auto& [wi, wj, wk] = weights_;
    const float* __restrict residual = buffer(row);
    float* __restrict out = &coarse(wi.coarse(row.begin), wj.coarse(row.j), wk.coarse(row.k));
    // The first row that a coarse row consists of sets it.
    const bool first = (!wj.joined || row.j % 2 == 0) && (!wk.joined || row.k % 2 == 0);
    const std::int64_t coarse_size = wi.joined ? (row.size + 1) / 2 : row.size;
    if (first)
        std::fill_n(out, coarse_size, 0.0F);
    if (!wi.joined) {
#pragma omp simd
        for (std::int64_t n = 0; n < row.size; ++n)
            out[n] += residual[n];
        return;
    }
    const std::int64_t pairs = row.size / 2;
#pragma omp simd
    for (std::int64_t n = 0; n < pairs; ++n)
        out[n] += residual[2 * n] + residual[2 * n + 1];
    if (row.size % 2 != 0)
        out[pairs] += residual[row.size - 1];
}

template <class Row>
void GridTransfer::restrict_residual(const Row& of, const float* __restrict in,
                                     const float* __restrict right, const View& coarse) const {
    const Row row = of; // a copy stays in registers
    const auto& [wi, wj, wk] = weights_;
    float* __restrict residual = buffer(row);
    const float share = factor_ * wj.share[index(row.j)] * wk.share[index(row.k)];
    const float* __restrict along = wi.share.data() + index(row.begin);
#pragma omp simd
    for (std::int64_t n = 0; n < row.size; ++n)
        residual[n] =
            share * along[n] * (right[n] - row.neighbours(in + n, n) + row.centre(n) * in[n]);
    add_to_coarse(of, coarse);
}

template <class Row>
void GridTransfer::restrict_row(const Row& row, const float* __restrict right,
                                const View& coarse) const {
    const auto& [wi, wj, wk] = weights_;
    float* __restrict shares = buffer(row);
    const float share = wj.share[index(row.j)] * wk.share[index(row.k)];
    const float* __restrict along = wi.share.data() + index(row.begin);
#pragma omp simd
    for (std::int64_t n = 0; n < row.size; ++n)
        shares[n] = share * along[n] * right[n];
    add_to_coarse(row, coarse);
}

template <class Row>
const float* GridTransfer::interpolate_across(const Row& row, const View& coarse) const {
    const auto& [wi, wj, wk] = weights_;
    // The cells beside those of the row are needed along i.
    const std::int64_t beside = wi.joined ? 1 : 0;
    const std::int64_t begin = wi.coarse(row.begin) - beside;
    const std::int64_t size = wi.coarse(row.begin + row.size - 1) + beside + 1 - begin;
    const float* __restrict c = &coarse(begin, wj.coarse(row.j), wk.coarse(row.k));
    const float* __restrict side = c + wj.side(row.j) * coarse.strides()[1];
    const std::int64_t above = wk.side(row.k) * coarse.strides()[2];
    const float own_j = wj.own[index(row.j)];
    const float own_k = wk.own[index(row.k)];
    const float next_j = wj.neighbour[index(row.j)];
    const float next_k = wk.neighbour[index(row.k)];
    float* __restrict out = buffer(row);
#pragma omp simd
    for (std::int64_t n = 0; n < size; ++n)
        out[n] = own_k * (own_j * c[n] + next_j * side[n]) +
                 next_k * (own_j * c[n + above] + next_j * side[n + above]);
    return out + beside;
}

namespace {

/// Interpolate a row of coarse cells `c` to `size` cells along i; the first is the lower one of a
/// pair.
template <bool Add>
void prolong_pairs(std::int64_t size, const float* __restrict own, const float* __restrict next,
                   const float* __restrict c, float* __restrict out) {
#pragma omp simd
    for (std::int64_t n = 0; n < size / 2; ++n) {
        const std::int64_t e = 2 * n;
        out[e] = (Add ? out[e] : 0.0F) + (own[e] * c[n] + next[e] * c[n - 1]);
        out[e + 1] = (Add ? out[e + 1] : 0.0F) + (own[e + 1] * c[n] + next[e + 1] * c[n + 1]);
    }
    if (size % 2 != 0) {
        const std::int64_t n = size / 2;
        out[2 * n] = (Add ? out[2 * n] : 0.0F) + (own[2 * n] * c[n] + next[2 * n] * c[n - 1]);
    }
}

} // namespace

template <bool Add, class Row>
void GridTransfer::prolong(const Row& row, const View& coarse, float* out) const {
    const Weights& wi = weights_[0];
    const float* c = interpolate_across(row, coarse);
    if (!wi.joined) {
#pragma omp simd
        for (std::int64_t n = 0; n < row.size; ++n)
            out[n] = (Add ? out[n] : 0.0F) + c[n];
        return;
    }
    const float* own = wi.own.data() + index(row.begin);
    const float* next = wi.neighbour.data() + index(row.begin);
    std::int64_t size = row.size;
    if ((row.begin & 1) != 0) { // a ghost
        out[0] = (Add ? out[0] : 0.0F) + (own[0] * c[0] + next[0] * c[1]);
        ++out, ++own, ++next, ++c, --size;
    }
    prolong_pairs<Add>(size, own, next, c, out);
}

template void GridTransfer::restrict_residual(const ConstantRow<float>&, const float*, const float*,
                                              const View&) const;
template void GridTransfer::restrict_residual(const VariableRow<float>&, const float*, const float*,
                                              const View&) const;
template void GridTransfer::restrict_row(const ConstantRow<float>&, const float*,
                                         const View&) const;
template void GridTransfer::restrict_row(const VariableRow<float>&, const float*,
                                         const View&) const;
template void GridTransfer::prolong<true>(const ConstantRow<float>&, const View&, float*) const;
template void GridTransfer::prolong<true>(const VariableRow<float>&, const View&, float*) const;
template void GridTransfer::prolong<false>(const ConstantRow<float>&, const View&, float*) const;
template void GridTransfer::prolong<false>(const VariableRow<float>&, const View&, float*) const;

} // namespace uzushio::linalg
