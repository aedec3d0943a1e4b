#include "raycast/cubic.hpp"

namespace uzushio::raycast {

namespace {

/// Steps of regula falsi: on a cubic without an extremum within, the error is below 1e-5.
constexpr int steps = 6;

} // namespace

Cubic::Powers Cubic::powers() const {
    const Floats d0 = b_[1] - b_[0], d1 = b_[2] - b_[1], d2 = b_[3] - b_[2];
    return {d0 * 3, (d1 - d0) * 3, d0 - d1 * 2 + d2};
}

Cubic::Pieces Cubic::pieces(const Powers& p) const {
    // Extrema: d0 (1 − s)² + 2 d1 s (1 − s) + d2 s² = 0, by the formula that does not cancel.
    const Floats d0 = b_[1] - b_[0], d1 = b_[2] - b_[1], d2 = b_[3] - b_[2];
    const Floats half = d0 - d1, square = d1 * d1 - d0 * d2;
    const Floats width = sqrt(max(square, floats(0)));
    const Floats q = half + select(less(half, floats(0)), -width, width);
    const auto extremum = [&](Floats s) {
        const Mask inside = less(floats(0), square) & less(floats(0), s) & less(s, floats(1));
        return select(inside, s, floats(1));
    };
    const Floats one = extremum(q / p.c3), other = extremum(d0 / q);
    Pieces result{{floats(0), min(one, other), max(one, other), floats(1)}, {b_[0], {}, {}, b_[3]}};
    for (std::size_t i = 1; i < 3; ++i)
        result.values[i] = select(less(result.ends[i], floats(1)), value(p, result.ends[i]), b_[3]);
    return result;
}

Mask Cubic::vanishes() const {
    const Mask once = less(b_[0], floats(0)) ^ less(b_[3], floats(0));
    if (!any(may_vanish() & ~once))
        return once;
    const Pieces some = pieces(powers());
    return some.vanish(0) | some.vanish(1) | some.vanish(2);
}

Floats Cubic::first_root() const {
    const Powers p = powers();
    const Pieces some = pieces(p);
    std::array<Floats, 4> bracket{some.ends[2], some.ends[3], some.values[2], some.values[3]};
    for (std::size_t i = 2; i-- > 0;) {
        const Mask here = some.vanish(i);
        bracket = {
            select(here, some.ends[i], bracket[0]), select(here, some.ends[i + 1], bracket[1]),
            select(here, some.values[i], bracket[2]), select(here, some.values[i + 1], bracket[3])};
    }
    return root(p, bracket[0], bracket[1], bracket[2], bracket[3]);
}

Cubic::Roots Cubic::roots() const {
    const Powers p = powers();
    const Pieces some = pieces(p);
    Roots result{};
    for (std::size_t i = 0; i < 3; ++i) {
        result.there[i] = some.vanish(i);
        if (any(result.there[i]))
            result.at[i] =
                root(p, some.ends[i], some.ends[i + 1], some.values[i], some.values[i + 1]);
    }
    return result;
}

/// Between ends at which the signs differ.
Floats Cubic::root(const Powers& powers, Floats low, Floats high, Floats at_low,
                   Floats at_high) const {
    const auto meet = [&] {
        const Floats s = low + (high - low) * (at_low / (at_low - at_high));
        return min(max(s, low), high);
    };
    // Regula falsi; an end that stays has its value halved (the Illinois variant).
    Mask kept = no_lane();
    for (int i = 0; i < steps; ++i) {
        const Floats guess = meet(), there = value(powers, guess);
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
