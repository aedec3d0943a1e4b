#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace uzushio::thermal {

/// Central scheme: the value at a face is the mean of the values on either side. Fluxes of it
/// conserve the integral of the square, also on stretched grids (Verstappen & Veldman 2003).
struct Central {
    static constexpr int ghosts = 1;
    static constexpr bool by_axis = false; ///< see `VanLeer`
    /// Return the value at the face between `value[-stride]` and `value[0]`, for a flux along the
    /// axis.
    static double at_face(double /*flux*/, const double* value, std::ptrdiff_t stride) {
        return 0.5 * (value[-stride] + value[0]);
    }
};

/// Limited scheme: upwind value with the limiter of van Leer (1974), in index space.
struct VanLeer {
    static constexpr int ghosts = 2;
    /// One loop for each axis: GCC does not vectorise a loop over the sum of all three.
    static constexpr bool by_axis = true;
    static double at_face(double flux, const double* value, std::ptrdiff_t stride) {
        // All four values are loaded, then selected: GCC does not vectorise loads in branches.
        const double a = value[-2 * stride], b = value[-stride], c = value[0], d = value[stride];
        const bool up = flux > 0;
        const double step = c - b;
        return (up ? b : c) + limited(up ? b - a : c - d, up ? step : -step);
    }
    /// Return half of the harmonic mean of two differences; 0 at an extremum.
    static double limited(double behind, double ahead) {
        const double product = std::max(behind * ahead, 0.0);
        const double sum = std::abs(behind + ahead);
        return std::copysign(product / (sum + std::numeric_limits<double>::min()), ahead);
    }
};

} // namespace uzushio::thermal
