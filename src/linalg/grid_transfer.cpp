#include "linalg/grid_transfer.hpp"

#include <algorithm>

namespace uzushio::linalg {

GridTransfer::GridTransfer(const std::array<Axis, 3>& axes, const Coarsened& joined)
    : buffer_(static_cast<std::size_t>(axes[0].cells())) {
    for (std::size_t a = 0; a < 3; ++a)
        weights_[a] = weights_of(axes[a], joined[a]);
}

GridTransfer::Weights GridTransfer::weights_of(const Axis& axis, bool joined) {
    Weights weights;
    weights.joined = joined;
    const auto n = static_cast<std::int64_t>(axis.cells());
    const Axis coarse = joined ? coarse_axis(axis) : axis;
    const auto width = [](const Axis& of, std::int64_t cell) {
        const auto cells = static_cast<std::int64_t>(of.cells());
        return of.widths[static_cast<std::size_t>((cell + cells) % cells)];
    };
    for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t c = weights.coarse(i);
        const double half = 0.5 * width(coarse, c);
        // Distance of the centres of the cell and of the coarse cell.
        const double offset = joined ? half - 0.5 * width(axis, i) : 0;
        const std::int64_t next = c + weights.side(i);
        const bool boundary = !axis.periodic() && (next < 0 || next >= coarse.cells());
        double own = 0;
        double neighbour = 0;
        if (!boundary) {
            neighbour = offset / (half + 0.5 * width(coarse, next));
            own = -neighbour;
        } else if (axis.ends[next < 0 ? 0 : 1] == Condition::dirichlet) {
            own = -offset / half;
        }
        weights.own.push_back(static_cast<float>(own));
        weights.neighbour.push_back(static_cast<float>(neighbour));
        weights.share.push_back(static_cast<float>(width(axis, i) / width(coarse, c)));
    }
    return weights;
}

void GridTransfer::restrict_residual(GridOperator<float>& a, Field& x, const Field& f,
                                     Field& coarse) const {
    a.exchange(x);
    const auto pass = a.section("transfer", 2 + 2 * coarse_share(), true);
    const auto& [wi, wj, wk] = weights_;
    a.for_rows([&](const auto& row) {
        const float* __restrict in = GridOperator<float>::row_of(x, row);
        const float* __restrict right = GridOperator<float>::row_of(f, row);
        float* __restrict residual = buffer_.data();
        const auto j = static_cast<std::size_t>(row.j);
        const auto k = static_cast<std::size_t>(row.k);
        const float share = wj.share[j] * wk.share[k];
        const float* __restrict along = wi.share.data() + row.begin;
#pragma omp simd
        for (std::int64_t n = 0; n < row.size; ++n)
            residual[n] =
                share * along[n] * (right[n] - row.neighbours(in + n, n) + row.centre(n) * in[n]);
        const auto view = coarse.view(row.block);
        float* __restrict out = &view(wi.coarse(row.begin), wj.coarse(row.j), wk.coarse(row.k));
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
    });
}

void GridTransfer::add_prolongation(const GridOperator<float>& a, const Field& coarse,
                                    Field& x) const {
    const auto pass = a.section("transfer", 2 + coarse_share());
    const auto& [wi, wj, wk] = weights_;
    a.for_rows([&](const auto& row) {
        const auto view = coarse.view(row.block);
        const std::int64_t cj = wj.coarse(row.j);
        const std::int64_t ck = wk.coarse(row.k);
        const float* __restrict c = &view(wi.coarse(row.begin), cj, ck);
        const float* __restrict beside = c + wj.side(row.j) * view.strides()[1];
        const float* __restrict above = c + wk.side(row.k) * view.strides()[2];
        float* __restrict out = GridOperator<float>::row_of(x, row);
        const auto j = static_cast<std::size_t>(row.j);
        const auto k = static_cast<std::size_t>(row.k);
        const float own = 1 + wj.own[j] + wk.own[k];
        const float wy = wj.neighbour[j];
        const float wz = wk.neighbour[k];
        if (!wi.joined) {
#pragma omp simd
            for (std::int64_t n = 0; n < row.size; ++n)
                out[n] += own * c[n] + wy * beside[n] + wz * above[n];
            return;
        }
        const float* __restrict own_i = wi.own.data() + row.begin;
        const float* __restrict next_i = wi.neighbour.data() + row.begin;
        const std::int64_t pairs = row.size / 2;
#pragma omp simd
        for (std::int64_t n = 0; n < pairs; ++n) {
            const float common = own * c[n] + wy * beside[n] + wz * above[n];
            out[2 * n] += common + own_i[2 * n] * c[n] + next_i[2 * n] * c[n - 1];
            out[2 * n + 1] += common + own_i[2 * n + 1] * c[n] + next_i[2 * n + 1] * c[n + 1];
        }
        if (row.size % 2 != 0) {
            const std::int64_t n = pairs;
            out[2 * n] += (own + own_i[2 * n]) * c[n] + next_i[2 * n] * c[n - 1] + wy * beside[n] +
                          wz * above[n];
        }
    });
}

} // namespace uzushio::linalg
