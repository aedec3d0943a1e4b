#include "linalg/mode_columns.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace uzushio::linalg {

using domain::Box;
using domain::View;

ModeColumns::ModeColumns(const Box<3>& modes, const Axis& axis, std::span<const double> along_i,
                         std::span<const double> along_j, double s, double scale, bool singular,
                         Outside outside)
    : modes_(modes), widths_(axis.widths), periodic_(axis.used && axis.periodic()),
      singular_(singular && modes.contains(domain::Index<3>{0, 0, modes.lower[2]})),
      pivots_(static_cast<std::size_t>(modes.volume())),
      border_(periodic_ ? static_cast<std::size_t>(modes.volume()) : 0),
      last_(periodic_ ? static_cast<std::size_t>(plane()) : 0),
      column_(singular_ ? static_cast<std::size_t>(modes.extent(2)) : 0) {
    assert(!periodic_ || modes.empty() || modes.extent(2) == axis.cells());
    for (const double width : widths_)
        scaled_widths_.push_back(scale * width);
    for (int face = 0; face <= axis.cells(); ++face)
        coupling_.push_back(axis.reciprocal_distance(face));
    if (!modes.empty())
        factorise(along_i, along_j, s, outside);
}

void ModeColumns::factorise(std::span<const double> along_i, std::span<const double> along_j,
                            double s, Outside outside) {
    const std::size_t n = widths_.size();
    const auto begin = static_cast<std::size_t>(modes_.lower[2]);
    const auto end = static_cast<std::size_t>(modes_.upper[2]);
    std::vector<double> couplings = coupling_;
    if (periodic_ && n == 1)
        couplings.assign(2, 0.0); // the cell's neighbours are itself
    std::size_t m = 0;
    const auto size = static_cast<std::size_t>(plane());
    for (std::int64_t j = modes_.lower[1]; j < modes_.upper[1]; ++j)
        for (std::int64_t i = modes_.lower[0]; i < modes_.upper[0]; ++i, ++m) {
            const double shift =
                along_i[static_cast<std::size_t>(i)] + along_j[static_cast<std::size_t>(j)] - s;
            const bool free = singular_ && i == 0 && j == 0;
            const auto diagonal_of = [&](std::size_t k) {
                return widths_[k] * shift - couplings[k] - couplings[k + 1];
            };
            double above = 0; // what the planes above these subtract from the last one's diagonal
            const bool has_sources = outside == Outside::zero_source;
            for (std::size_t k = n; k-- > end && !free && has_sources;)
                above = couplings[k] * couplings[k] / (diagonal_of(k) - above);
            double pivot = 0;  // of plane k-1
            double corner = 0; // diagonal of the last row, without what was eliminated
            double before = 0; // entry of the last row in column k-1, times its pivot
            for (std::size_t k = has_sources ? 0 : begin; k < end; ++k) {
                double diagonal = diagonal_of(k);
                if (k > 0 && !(periodic_ && k + 1 == n))
                    diagonal -= couplings[k] * couplings[k] * pivot;
                if (k + 1 == end)
                    diagonal -= above;
                if (periodic_ && k + 1 < n) {
                    double entry = k == 0 ? couplings[0] : -couplings[k] * before;
                    if (k + 2 == n)
                        entry += couplings[n - 1];
                    border_[k * size + m] = entry;
                    pivot = free ? 0 : 1 / diagonal;
                    before = entry * pivot;
                    corner -= entry * before;
                } else {
                    pivot = free ? 0 : 1 / (diagonal + corner);
                }
                if (k >= begin)
                    pivots_[(k - begin) * size + m] = pivot;
            }
        }
}

/// Call `row` with the first value of each row, its pivots' position, and that in `last_`.
template <class Row>
void ModeColumns::for_rows(const View<double>& x, std::int64_t k, std::int64_t begin,
                           std::int64_t end, Row&& row) const {
    for (std::int64_t j = begin; j < end; ++j) {
        const std::int64_t m = (j - modes_.lower[1]) * modes_.extent(0);
        row(&x(modes_.lower[0], j, k), m + (k - modes_.lower[2]) * plane(), m);
    }
}

void ModeColumns::eliminate(const View<double>& x, std::int64_t k, std::int64_t begin,
                            std::int64_t end) {
    const std::int64_t width = modes_.extent(0);
    const auto at = static_cast<std::size_t>(k);
    const double weight = scaled_widths_[at];
    const bool first = k == modes_.lower[2];
    const double coupling = first ? 0 : coupling_[at];
    const std::int64_t below = first ? 0 : x.strides()[2];
    const bool singular = singular_ && begin == 0 && end > 0;
    if (singular)
        column_[static_cast<std::size_t>(k - modes_.lower[2])] = weight * x(0, 0, k);
    const bool border = periodic_ && k + 1 == std::ssize(widths_);
    for_rows(x, k, begin, end, [&](double* row, std::int64_t p, std::int64_t m) {
        const double* __restrict pivot = pivots_.data() + p;
        if (border) {
            double* __restrict last = last_.data() + m;
#pragma omp simd
            for (std::int64_t i = 0; i < width; ++i)
                row[i] = last[i] = (weight * row[i] - (first ? 0.0 : last[i])) * pivot[i];
            return;
        }
        const double* before = row - below;
#pragma omp simd
        for (std::int64_t i = 0; i < width; ++i)
            row[i] = (weight * row[i] - coupling * before[i]) * pivot[i];
        if (!periodic_)
            return;
        const double* __restrict entry = border_.data() + p;
        double* __restrict last = last_.data() + m;
        if (first)
            std::fill_n(last, width, 0.0);
#pragma omp simd
        for (std::int64_t i = 0; i < width; ++i)
            last[i] += entry[i] * row[i];
    });
    if (singular && k + 1 == modes_.upper[2])
        solve_singular_column();
}

void ModeColumns::substitute(const View<double>& x, std::int64_t k, std::int64_t begin,
                             std::int64_t end) {
    const std::int64_t width = modes_.extent(0);
    const std::int64_t n = modes_.upper[2];
    const bool next = k + 1 < n - (periodic_ ? 1 : 0);
    const double coupling = next ? coupling_[static_cast<std::size_t>(k + 1)] : 0;
    const std::int64_t above = next ? x.strides()[2] : 0;
    if (k + 1 < n)
        for_rows(x, k, begin, end, [&](double* row, std::int64_t p, std::int64_t m) {
            const double* __restrict pivot = pivots_.data() + p;
            if (periodic_) {
                const double* __restrict border = border_.data() + p;
                const double* __restrict last = last_.data() + m;
#pragma omp simd
                for (std::int64_t i = 0; i < width; ++i)
                    row[i] -= pivot[i] * (coupling * row[above + i] + border[i] * last[i]);
            } else {
#pragma omp simd
                for (std::int64_t i = 0; i < width; ++i)
                    row[i] -= coupling * pivot[i] * row[above + i];
            }
        });
    if (singular_ && begin == 0 && end > 0)
        x(0, 0, k) = column_[static_cast<std::size_t>(k - modes_.lower[2])];
}

// Fluxes are sums of the right-hand side, and values are sums of fluxes over the couplings.
void ModeColumns::solve_singular_column() {
    const std::size_t n = column_.size();
    const double* widths = widths_.data() + modes_.lower[2];
    const double* coupling = coupling_.data() + modes_.lower[2];
    const double length = std::accumulate(widths, widths + n, 0.0);
    const double mean = std::accumulate(column_.begin(), column_.end(), 0.0) / length;
    std::vector<double> flux(n, 0.0); // through the upper face of each cell
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k)
        flux[k] = sum += column_[k] - mean * widths[k];
    if (periodic_) { // the flux that is the same everywhere makes the way around close
        double around = 0;
        double resistance = 0;
        for (std::size_t k = 0; k < n; ++k) {
            around += flux[k] / coupling[k + 1];
            resistance += 1 / coupling[k + 1];
        }
        for (double& value : flux)
            value -= around / resistance;
    }
    double value = 0;
    double moment = 0;
    for (std::size_t k = 0; k < n; ++k) {
        column_[k] = value;
        moment += value * widths[k];
        if (k + 1 < n)
            value += flux[k] / coupling[k + 1];
    }
    for (double& each : column_)
        each -= moment / length;
}

} // namespace uzushio::linalg
