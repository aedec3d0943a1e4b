#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace uzushio::jet {

/// Return the value at the side between c and d of a function with these means in five cells:
/// WENO5-Z (Borges, Carmona, Costa & Don 2008).
[[gnu::always_inline]] inline double weno5(double a, double b, double c, double d, double e) {
    const double p0 = (2 * a - 7 * b + 11 * c) * (1. / 6);
    const double p1 = (5 * c - b + 2 * d) * (1. / 6);
    const double p2 = (2 * c + 5 * d - e) * (1. / 6);
    const double d0 = a - 2 * b + c, d1 = b - 2 * c + d, d2 = c - 2 * d + e;
    const double g0 = a - 4 * b + 3 * c, g1 = b - d, g2 = 3 * c - 4 * d + e;
    constexpr double tiny = std::numeric_limits<double>::min(), largest = 1e12;
    const double b0 = 13. / 12 * d0 * d0 + 0.25 * g0 * g0;
    const double b1 = 13. / 12 * d1 * d1 + 0.25 * g1 * g1;
    const double b2 = 13. / 12 * d2 * d2 + 0.25 * g2 * g2;
    const double tau = std::abs(b0 - b2);
    // Ratios are bounded: squares stay finite whatever the unit of the values.
    const double r0 = std::min(tau / (b0 + tiny), largest);
    const double r1 = std::min(tau / (b1 + tiny), largest);
    const double r2 = std::min(tau / (b2 + tiny), largest);
    const double w0 = 1 + r0 * r0, w1 = 6 * (1 + r1 * r1), w2 = 3 * (1 + r2 * r2);
    return (w0 * p0 + w1 * p1 + w2 * p2) / (w0 + w1 + w2);
}

/// Return the value at the side between b and c: third order, with the limiter of Koren (1993).
[[gnu::always_inline]] inline double muscl3(double a, double b, double c) {
    const double below = b - a, above = c - b;
    const double third = (2 * above + below) * (1. / 3);
    // Between 0 and twice the smaller difference, if both have one sign.
    const double sign = above > 0 ? 1. : -1.;
    const double slope = std::max(0., std::min({2 * sign * below, 2 * sign * above, sign * third}));
    return b + 0.5 * sign * slope;
}

} // namespace uzushio::jet
