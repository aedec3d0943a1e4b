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
    struct Place {
        Ints cell;
        Floats part;
    };

    /// Positions from which cells are found: those of some points and all between them.
    struct Limits {
        float low, high;
    };
    [[nodiscard]] Limits limits(std::int32_t first_point, std::int32_t last_point) const;

    /// Beyond the limits a position counts as if it were at them. What is no number is at the
    /// lower.
    [[nodiscard]] UZUSHIO_INLINE Place place(Floats position, Limits within) const {
        const Floats inside = min(max(position, floats(within.low)), floats(within.high));
        const Ints bin = to_ints(inside);
        if (even_)
            return {bin, inside - to_floats(bin)};
        Ints cell = gather(first_.data(), bin);
        for (int i = 0; i < corrections_; ++i) {
            const Floats next = gather(edges_.data() + 1, cell);
            cell = cell + select(less_equal(next, inside) & less(cell, ints(last_cell_)), ints(1),
                                 ints(0));
        }
        return {cell, (inside - gather(edges_.data(), cell)) * gather(inverse_.data(), cell)};
    }

    [[nodiscard]] UZUSHIO_INLINE Ints cell(Floats position, Limits within) const {
        if (even_)
            return to_ints(min(max(position, floats(within.low)), floats(within.high)));
        return place(position, within).cell;
    }

    /// How far along a cell, from 0 to 1, a position is, or its nearer end.
    [[nodiscard]] UZUSHIO_INLINE Floats part(Floats position, Ints cell) const {
        const Floats beyond =
            even_ ? position - to_floats(cell)
                  : (position - gather(edges_.data(), cell)) * gather(inverse_.data(), cell);
        return min(max(beyond, floats(0)), floats(1));
    }

    /// Positions of points.
    [[nodiscard]] UZUSHIO_INLINE Floats edge(Ints point) const {
        return even_ ? to_floats(point) : gather(edges_.data(), point);
    }

    /// Width in lookup space of the narrowest cell from `low` to `high`, or of a bin if that is
    /// wider.
    [[nodiscard]] UZUSHIO_INLINE Floats narrowest(Ints low, Ints high) const {
        if (even_)
            return floats(1);
        // Two runs of 2^level cells, which overlap: `level` is in a float's exponent.
        const Ints level = (bit_cast_ints(to_floats(high - low + 1)) >> 23) - 127;
        const Ints row = level * cells();
        return min(gather(narrowest_.data(), row + low),
                   gather(narrowest_.data(), row + high + 1 - (ints(1) << level)));
    }
    /// The same, of all cells.
    [[nodiscard]] float narrowest() const {
        return even_ ? 1 : *std::min_element(narrowest_.begin(), narrowest_.begin() + cells());
    }

    [[nodiscard]] std::span<const double> points() const { return points_; }
    [[nodiscard]] int cells() const { return last_cell_ + 1; }
    [[nodiscard]] double low() const { return points_.front(); }
    [[nodiscard]] double high() const { return points_.back(); }
    [[nodiscard]] float bins() const { return bins_; }
    /// Width of a bin.
    [[nodiscard]] double bin() const { return 1 / scale_; }
    /// Lookup space per coordinate.
    [[nodiscard]] double scale() const { return scale_; }
    [[nodiscard]] bool even() const { return even_; }

  private:
    std::vector<double> points_;
    double scale_ = 1;
    float bins_ = 1;
    std::int32_t last_cell_ = 0;
    bool even_ = true;
    int corrections_ = 0;             ///< points inside a bin, at most
    std::vector<std::int32_t> first_; ///< cell that each bin begins in
    std::vector<float> edges_;        ///< positions of points
    std::vector<float> inverse_;      ///< one over the width of each cell
    std::vector<float> narrowest_;    ///< of 2^level cells, row by row of rising level
};

} // namespace uzushio::raycast
