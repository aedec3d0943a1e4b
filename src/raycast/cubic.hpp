#pragma once

#include <array>
#include <cstddef>

#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// A trilinear function along the straight line between two points of its cell: a cubic polynomial
/// on [0, 1], by its Bernstein coefficients. The first and the last are the values at the points.
class Cubic {
  public:
    /// From the values at the cell's corners (x + 2 y + 4 z) and the points' places in the cell,
    /// from 0 to 1.
    ///
    /// If no corner is negative, no coefficient is, whatever is rounded.
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

    /// Where it may have a root: a polynomial lies between its coefficients.
    [[nodiscard]] UZUSHIO_INLINE Mask may_vanish() const {
        const auto negative = [&](std::size_t i) { return less(b_[i], floats(0)); };
        return (negative(0) ^ negative(1)) | (negative(1) ^ negative(2)) |
               (negative(2) ^ negative(3));
    }

    /// Where it has a root.
    [[nodiscard]] Mask vanishes() const;
    /// The first root, where there is one.
    [[nodiscard]] Floats first_root() const;
    /// All roots: one, if there is one, on each of the three pieces between its extrema.
    struct Roots {
        std::array<Floats, 3> at;
        std::array<Mask, 3> there;
    };
    [[nodiscard]] Roots roots() const;

    /// Take over another one in some lanes.
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
    /// Ends of the pieces on which it rises or falls, and values there.
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
