#include "raycast/cubic.hpp"

namespace uzushio::raycast {

namespace {

/// Steps of regula falsi: for a monotone cubic the error is below 1e-5.
constexpr int steps = 6;

} // namespace

Cubic::Coefficients Cubic::coefficients() const {
    const Floats d0 = b_[1] - b_[0], d1 = b_[2] - b_[1], d2 = b_[3] - b_[2];
    return {d0 * 3, (d1 - d0) * 3, d0 - d1 * 2 + d2};
}

Cubic::MonotonePieces Cubic::pieces(const Coefficients& p) const {
    // Extrema: d0 (1 − s)² + 2 d1 s (1 − s) + d2 s² = 0, by the formula without cancellation.
    const Floats d0 = b_[1] - b_[0], d1 = b_[2] - b_[1], d2 = b_[3] - b_[2];
    const Floats half = d0 - d1, square = d1 * d1 - d0 * d2;
    const Floats width = sqrt(max(square, floats(0)));
    const Floats q = half + select(less(half, floats(0)), -width, width);
    const auto extremum = [&](Floats s) {
        const Mask inside = less(floats(0), square) & less(floats(0), s) & less(s, floats(1));
        return select(inside, s, floats(1));
    };
    const Floats root = extremum(q / p.c3), other = extremum(d0 / q);
    MonotonePieces result{{floats(0), min(root, other), max(root, other), floats(1)},
                          {b_[0], {}, {}, b_[3]}};
    for (std::size_t i = 1; i < 3; ++i)
        result.values[i] = select(less(result.ends[i], floats(1)), value(p, result.ends[i]), b_[3]);
    return result;
}

Mask Cubic::vanishes() const {
    const Mask once = less(b_[0], floats(0)) ^ less(b_[3], floats(0));
    if (!any(may_vanish() & ~once))
        return once;
    const MonotonePieces parts = pieces(coefficients());
    return parts.vanish(0) | parts.vanish(1) | parts.vanish(2);
}

Floats Cubic::first_root() const {
    const Coefficients p = coefficients();
    const MonotonePieces parts = pieces(p);
    std::array<Floats, 4> bracket{parts.ends[2], parts.ends[3], parts.values[2], parts.values[3]};
    for (std::size_t i = 2; i-- > 0;) {
        const Mask here = parts.vanish(i);
        bracket = {select(here, parts.ends[i], bracket[0]),
                   select(here, parts.ends[i + 1], bracket[1]),
                   select(here, parts.values[i], bracket[2]),
                   select(here, parts.values[i + 1], bracket[3])};
    }
    return root(p, bracket[0], bracket[1], bracket[2], bracket[3]);
}

Cubic::Roots Cubic::roots() const {
    const Coefficients p = coefficients();
    const MonotonePieces parts = pieces(p);
    Roots result{};
    for (std::size_t i = 0; i < 3; ++i) {
        result.there[i] = parts.vanish(i);
        if (any(result.there[i]))
            result.at[i] =
                root(p, parts.ends[i], parts.ends[i + 1], parts.values[i], parts.values[i + 1]);
    }
    return result;
}

/// Find the root between two ends with different signs.
Floats Cubic::root(const Coefficients& coefficients, Floats low, Floats high, Floats at_low,
                   Floats at_high) const {
    const auto meet = [&] {
        const Floats s = low + (high - low) * (at_low / (at_low - at_high));
        return min(max(s, low), high);
    };
    // Regula falsi, Illinois variant: the value at an end that is kept is halved.
    Mask kept = no_lanes();
    for (int i = 0; i < steps; ++i) {
        const Floats guess = meet(), there = value(coefficients, guess);
        const Mask with_low = ~(less(there, floats(0)) ^ less(at_low, floats(0)));
        low = select(with_low, guess, low);
        at_low = select(with_low, there, at_low);
        high = select(with_low, high, guess);
        at_high = select(with_low, at_high, there);
        if (i > 0) {
            at_high = select(with_low & kept, at_high * 0.5F, at_high);
            at_low = select(~with_low & ~kept, at_low * 0.5F, at_low);
        }
        kept = with_low;
    }
    return meet();
}

} // namespace uzushio::raycast
