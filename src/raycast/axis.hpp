#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// The points of the whole domain along one axis, and the cell that a position is in.
///
/// Positions are in lookup space, which goes from 0 at the first point to `bins()` at the last. On
/// an evenly spaced axis a bin is a cell. Everything here depends on the whole domain alone, so
/// that all blocks find the same cells.
class Axis {
  public:
    /// Two points or more, rising. Throws std::invalid_argument otherwise.
    explicit Axis(std::span<const double> points);

    /// A position's cell, and how far along it is, from 0 to 1.
    struct CellPosition {
        Ints cell;
        Floats fraction;
    };

    /// Positions from which cells are found: those of some points and all between them.
    struct Limits {
        float low, high;
    };
    [[nodiscard]] Limits limits(std::int32_t first_point, std::int32_t last_point) const;

    /// Beyond the limits a position counts as if it were at them. What is no number is at the
    /// lower.
    [[nodiscard]] UZUSHIO_INLINE CellPosition locate(Floats position, Limits within) const {
        const Floats inside = min(max(position, floats(within.low)), floats(within.high));
        const Ints bin = to_ints(inside);
        if (uniform_)
            return {bin, inside - to_floats(bin)};
        Ints cell = gather(first_cells_.data(), bin);
        for (int i = 0; i < max_points_in_bin_; ++i) {
            const Floats next = gather(point_positions_.data() + 1, cell);
            cell = cell + select(less_equal(next, inside) & less(cell, ints(last_cell_)), ints(1),
                                 ints(0));
        }
        return {cell, (inside - gather(point_positions_.data(), cell)) *
                          gather(inverse_widths_.data(), cell)};
    }

    [[nodiscard]] UZUSHIO_INLINE Ints cell(Floats position, Limits within) const {
        if (uniform_)
            return to_ints(min(max(position, floats(within.low)), floats(within.high)));
        return locate(position, within).cell;
    }

    /// How far along a cell, from 0 to 1, a position is, or its nearer end.
    [[nodiscard]] UZUSHIO_INLINE Floats fraction(Floats position, Ints cell) const {
        const Floats beyond = uniform_ ? position - to_floats(cell)
                                       : (position - gather(point_positions_.data(), cell)) *
                                             gather(inverse_widths_.data(), cell);
        return min(max(beyond, floats(0)), floats(1));
    }

    /// Positions of points.
    [[nodiscard]] UZUSHIO_INLINE Floats point_position(Ints point) const {
        return uniform_ ? to_floats(point) : gather(point_positions_.data(), point);
    }

    /// Width in lookup space of the narrowest cell from `low` to `high`, or of a bin if that is
    /// wider.
    [[nodiscard]] UZUSHIO_INLINE Floats min_width(Ints low, Ints high) const {
        if (uniform_)
            return floats(1);
        // Two runs of 2^level cells, which overlap: `level` is in a float's exponent.
        const Ints level = (bit_cast_ints(to_floats(high - low + 1)) >> 23) - 127;
        const Ints row = level * cells();
        return min(gather(min_widths_.data(), row + low),
                   gather(min_widths_.data(), row + high + 1 - (ints(1) << level)));
    }
    /// The same, of all cells.
    [[nodiscard]] float min_width() const {
        return uniform_ ? 1 : *std::min_element(min_widths_.begin(), min_widths_.begin() + cells());
    }

    [[nodiscard]] std::span<const double> points() const { return points_; }
    [[nodiscard]] int cells() const { return last_cell_ + 1; }
    [[nodiscard]] double low() const { return points_.front(); }
    [[nodiscard]] double high() const { return points_.back(); }
    [[nodiscard]] float bins() const { return bins_; }
    /// Width of a bin.
    [[nodiscard]] double bin_width() const { return 1 / scale_; }
    /// Lookup space per coordinate.
    [[nodiscard]] double scale() const { return scale_; }
    [[nodiscard]] bool uniform() const { return uniform_; }

  private:
    std::vector<double> points_;
    double scale_ = 1;
    float bins_ = 1;
    std::int32_t last_cell_ = 0;
    bool uniform_ = true;
    int max_points_in_bin_ = 0;             ///< points inside a bin, at most
    std::vector<std::int32_t> first_cells_; ///< cell that each bin begins in
    std::vector<float> point_positions_;    ///< positions of points
    std::vector<float> inverse_widths_;     ///< one over the width of each cell
    std::vector<float> min_widths_;         ///< of 2^level cells, row by row of rising level
};

} // namespace uzushio::raycast
