#pragma once

#include <cstddef>

namespace uzushio::thermal {

/// Value at a face: the mean of those beside it. Products of it with a flux conserve the square of
/// the value, also on stretched grids (Verstappen & Veldman 2003).
struct Central {
    static constexpr int ghosts = 1;
    /// Return the value at the face between `value[-stride]` and `value[0]`, for a flux along the
    /// axis.
    static double at_face(double /*flux*/, const double* value, std::ptrdiff_t stride) {
        return 0.5 * (value[-stride] + value[0]);
    }
};

/// Upwind value with the limiter of van Leer (1974), in the space of indices: bounded.
struct VanLeer {
    static constexpr int ghosts = 2;
    static double at_face(double flux, const double* value, std::ptrdiff_t stride) {
        // All four are loaded, so that the loop of the caller becomes vectors.
        const double a = value[-2 * stride], b = value[-stride], c = value[0], d = value[stride];
        const bool up = flux > 0;
        const double far = up ? a : d;
        const double near = up ? b : c;
        const double next = up ? c : b;
        const double behind = near - far;
        const double ahead = next - near;
        const double product = behind * ahead;
        const double sum = behind + ahead;
        return near + (product > 0 ? product / sum : 0.0);
    }
};

} // namespace uzushio::thermal
