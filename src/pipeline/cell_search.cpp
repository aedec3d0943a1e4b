#include "pipeline/cell_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace uzushio::pipeline {

namespace {

using Index = std::array<std::ptrdiff_t, 3>;
using Place = std::array<double, 3>;

/// Cells along an edge of a brick, whose bounding box is tested before its cells.
constexpr std::ptrdiff_t brick = 8;
/// How far outside a cell a position may be, in cells.
constexpr double tolerance = 1e-6;

struct Bounds {
    Place low, high;
    Bounds() {
        low.fill(std::numeric_limits<double>::infinity());
        high.fill(-std::numeric_limits<double>::infinity());
    }
    void add(const double* p) {
        for (std::size_t c = 0; c < 3; ++c)
            low[c] = std::min(low[c], p[c]), high[c] = std::max(high[c], p[c]);
    }
    [[nodiscard]] bool contains(const Place& p) const {
        double room = 0;
        for (std::size_t c = 0; c < 3; ++c)
            room = std::max(room, 2 * tolerance * (high[c] - low[c]));
        for (std::size_t c = 0; c < 3; ++c)
            if (!(p[c] >= low[c] - room && p[c] <= high[c] + room))
                return false;
        return true;
    }
};

/// Return the place of a position in a cell, by Newton's method.
std::optional<Place> place_in(const std::array<const double*, 8>& corners, const Place& position) {
    Place s{0.5, 0.5, 0.5};
    for (int iteration = 0; iteration < 20; ++iteration) {
        Place rest = position, along[3]{};
        for (std::size_t m = 0; m < 8; ++m) {
            const std::array<std::size_t, 3> bit{m >> 2, m >> 1 & 1, m & 1};
            Place weight;
            for (std::size_t axis = 0; axis < 3; ++axis)
                weight[axis] = bit[axis] ? s[axis] : 1 - s[axis];
            for (std::size_t c = 0; c < 3; ++c) {
                const double x = corners[m][c];
                rest[c] -= weight[0] * weight[1] * weight[2] * x;
                for (std::size_t axis = 0; axis < 3; ++axis)
                    along[axis][c] +=
                        (bit[axis] ? x : -x) * weight[(axis + 1) % 3] * weight[(axis + 2) % 3];
            }
        }
        const auto determinant = [](const Place& a, const Place& b, const Place& c) {
            return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
                   a[2] * (b[0] * c[1] - b[1] * c[0]);
        };
        const double volume = determinant(along[0], along[1], along[2]);
        if (volume == 0)
            return std::nullopt;
        const Place step{determinant(rest, along[1], along[2]) / volume,
                         determinant(along[0], rest, along[2]) / volume,
                         determinant(along[0], along[1], rest) / volume};
        double largest = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            s[axis] = std::clamp(s[axis] + step[axis], -2.0, 3.0);
            largest = std::max(largest, std::abs(step[axis]));
        }
        if (largest < 1e-13)
            break;
    }
    for (const double value : s)
        if (!(value >= -tolerance && value <= 1 + tolerance))
            return std::nullopt;
    return s;
}

} // namespace

void find_cells(const FieldView<const double>& corners, Index first, Index cells,
                std::span<const Place> positions, std::span<Cell> out, int threads) {
    const auto at = [&](std::ptrdiff_t k, std::ptrdiff_t j, std::ptrdiff_t i) {
        return corners.row(k, j) + 3 * i;
    };
    Index bricks;
    for (std::size_t axis = 0; axis < 3; ++axis)
        bricks[axis] = (cells[axis] + brick - 1) / brick;
    const std::ptrdiff_t count = bricks[0] * bricks[1] * bricks[2];
    std::vector<Bounds> bounds(static_cast<std::size_t>(count));
    const auto range = [&](std::ptrdiff_t n) {
        const Index of{n / (bricks[1] * bricks[2]), n / bricks[2] % bricks[1], n % bricks[2]};
        std::pair<Index, Index> ends;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            ends.first[axis] = first[axis] + of[axis] * brick;
            ends.second[axis] = std::min(ends.first[axis] + brick, first[axis] + cells[axis]);
        }
        return ends;
    };
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::ptrdiff_t n = 0; n < count; ++n) {
        const auto [low, high] = range(n);
        for (auto k = low[0]; k <= high[0]; ++k)
            for (auto j = low[1]; j <= high[1]; ++j)
                for (auto i = low[2]; i <= high[2]; ++i)
                    bounds[static_cast<std::size_t>(n)].add(at(k, j, i));
    }
    const auto find = [&](const Place& position) {
        for (std::ptrdiff_t n = 0; n < count; ++n) {
            if (!bounds[static_cast<std::size_t>(n)].contains(position))
                continue;
            const auto [low, high] = range(n);
            for (auto k = low[0]; k < high[0]; ++k)
                for (auto j = low[1]; j < high[1]; ++j)
                    for (auto i = low[2]; i < high[2]; ++i) {
                        std::array<const double*, 8> around;
                        Bounds box;
                        for (std::size_t m = 0; m < 8; ++m) {
                            around[m] =
                                at(k + std::ptrdiff_t(m >> 2), j + std::ptrdiff_t(m >> 1 & 1),
                                   i + std::ptrdiff_t(m & 1));
                            box.add(around[m]);
                        }
                        if (!box.contains(position))
                            continue;
                        if (const auto share = place_in(around, position))
                            return Cell{{k, j, i}, *share};
                    }
        }
        return Cell{};
    };
    const auto total = static_cast<std::ptrdiff_t>(positions.size());
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (std::ptrdiff_t n = 0; n < total; ++n)
        out[static_cast<std::size_t>(n)] = find(positions[static_cast<std::size_t>(n)]);
}

} // namespace uzushio::pipeline
