#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// Points of the whole domain along one axis, and the search for the cell of a position.
///
/// Positions are in lookup space, from 0 at the first point to `bins()` at the last. On a uniform
/// axis a bin is a cell. Results depend on the whole domain only, so all blocks find the same
/// cells.
class Axis {
  public:
    /// Take two or more increasing points. Throws std::invalid_argument otherwise.
    explicit Axis(std::span<const double> points);

    /// Cell of a position, and the fraction of the cell below it, from 0 to 1.
    struct CellPosition {
        Ints cell;
        Floats fraction;
    };

    /// Interval of positions to which a search is clamped.
    struct Limits {
        float low, high;
    };
    [[nodiscard]] Limits limits(std::int32_t first_point, std::int32_t last_point) const;

    /// Return the cell of a position, clamped to the limits. NaN counts as the lower limit.
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

    /// Return the fraction of a cell below a position, clamped to 0 and 1.
    [[nodiscard]] UZUSHIO_INLINE Floats fraction(Floats position, Ints cell) const {
        const Floats beyond = uniform_ ? position - to_floats(cell)
                                       : (position - gather(point_positions_.data(), cell)) *
                                             gather(inverse_widths_.data(), cell);
        return min(max(beyond, floats(0)), floats(1));
    }

    /// Return the positions of points.
    [[nodiscard]] UZUSHIO_INLINE Floats point_position(Ints point) const {
        return uniform_ ? to_floats(point) : gather(point_positions_.data(), point);
    }

    /// Return the width, in lookup space, of the narrowest cell from `low` to `high`, but at least
    /// that of a bin.
    [[nodiscard]] UZUSHIO_INLINE Floats min_width(Ints low, Ints high) const {
        if (uniform_)
            return floats(1);
        // Minimum of two overlapping ranges of 2^level cells; `level` is in a float's exponent.
        const Ints level = (bit_cast_ints(to_floats(high - low + 1)) >> 23) - 127;
        const Ints row = level * cells();
        return min(gather(min_widths_.data(), row + low),
                   gather(min_widths_.data(), row + high + 1 - (ints(1) << level)));
    }
    /// Return the same for all cells.
    [[nodiscard]] float min_width() const {
        return uniform_ ? 1 : *std::min_element(min_widths_.begin(), min_widths_.begin() + cells());
    }

    [[nodiscard]] std::span<const double> points() const { return points_; }
    [[nodiscard]] int cells() const { return last_cell_ + 1; }
    [[nodiscard]] double low() const { return points_.front(); }
    [[nodiscard]] double high() const { return points_.back(); }
    [[nodiscard]] float bins() const { return bins_; }
    /// Return the width of a bin.
    [[nodiscard]] double bin_width() const { return 1 / scale_; }
    /// Return lookup space per coordinate.
    [[nodiscard]] double scale() const { return scale_; }

  private:
    std::vector<double> points_;
    double scale_ = 1;
    float bins_ = 1;
    std::int32_t last_cell_ = 0;
    bool uniform_ = true;
    int max_points_in_bin_ = 0;
    std::vector<std::int32_t> first_cells_; ///< by bin: the cell at its lower end
    std::vector<float> point_positions_;
    std::vector<float> inverse_widths_; ///< by cell
    std::vector<float> min_widths_;     ///< of ranges of 2^level cells, row by row of rising level
};

} // namespace uzushio::raycast
