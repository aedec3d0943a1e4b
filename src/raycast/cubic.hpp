#pragma once

#include <array>
#include <cstddef>

#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// Trilinear function along the straight line between two points of a cell: a cubic polynomial on
/// [0, 1] in Bernstein form. The first and last coefficients are the values at the points.
class Cubic {
  public:
    /// Take the values at the cell's corners (x + 2 y + 4 z) and the points' positions in the cell,
    /// from 0 to 1.
    ///
    /// If no corner is negative, no coefficient is negative, rounding included.
    UZUSHIO_INLINE Cubic(std::array<Floats, 8> corners, const std::array<Floats, 3>& begin,
                         const std::array<Floats, 3>& end) {
        // The function at the corners of the box that the two points span ...
        for (std::size_t a = 0; a < 3; ++a)
            for (std::size_t i = 0; i < 8; ++i)
                if ((i >> a & 1) == 0) {
                    const Floats low = corners[i], rise = corners[i | 1U << a] - low;
                    corners[i] = fma(begin[a], rise, low);
                    corners[i | 1U << a] = fma(end[a], rise, low);
                }
        // ... is its polar form, and the coefficients are means of that (Farin 2002).
        b_ = {corners[0], (corners[1] + corners[2] + corners[4]) * (1.0F / 3),
              (corners[3] + corners[5] + corners[6]) * (1.0F / 3), corners[7]};
    }

    [[nodiscard]] Floats begin() const { return b_[0]; }
    [[nodiscard]] Floats end() const { return b_[3]; }

    /// Return the lanes that may have a root: a polynomial lies between its coefficients.
    [[nodiscard]] UZUSHIO_INLINE Mask may_vanish() const {
        const auto negative = [&](std::size_t i) { return less(b_[i], floats(0)); };
        return (negative(0) ^ negative(1)) | (negative(1) ^ negative(2)) |
               (negative(2) ^ negative(3));
    }

    /// Return the lanes that have a root.
    [[nodiscard]] Mask vanishes() const;
    /// Return the first root, valid where there is one.
    [[nodiscard]] Floats first_root() const;
    /// All roots: at most one on each of the three pieces between extrema.
    struct Roots {
        std::array<Floats, 3> at;
        std::array<Mask, 3> there;
    };
    [[nodiscard]] Roots roots() const;

    /// Replace some lanes by those of another one.
    void replace(Mask where, const Cubic& other) {
        for (std::size_t i = 0; i < 4; ++i)
            b_[i] = select(where, other.b_[i], b_[i]);
    }
    Cubic() = default;

  private:
    /// Coefficients of s, s² and s³.
    struct Coefficients {
        Floats c1, c2, c3;
    };
    /// Ends of the monotone pieces, and the values there.
    struct MonotonePieces {
        std::array<Floats, 4> ends, values;

        [[nodiscard]] Mask vanish(std::size_t i) const {
            return less(values[i], floats(0)) ^ less(values[i + 1], floats(0));
        }
    };
    [[nodiscard]] Coefficients coefficients() const;
    [[nodiscard]] MonotonePieces pieces(const Coefficients& p) const;
    [[nodiscard]] UZUSHIO_INLINE Floats value(const Coefficients& p, Floats s) const {
        return fma(s, fma(s, fma(s, p.c3, p.c2), p.c1), b_[0]);
    }
    [[nodiscard]] Floats root(const Coefficients& coefficients, Floats low, Floats high,
                              Floats at_low, Floats at_high) const;

    std::array<Floats, 4> b_;
};

} // namespace uzushio::raycast
