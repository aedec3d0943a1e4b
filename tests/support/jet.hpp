#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace uzushio {

/// Value of a function of x, y, z and t with its first derivatives and its Laplacian, by the rules
/// of differentiation: exact to round-off.
struct Jet {
    double value = 0;
    std::array<double, 4> d{}; ///< along x, y, z, t
    double laplacian = 0;

    Jet() = default;
    Jet(double constant) : value(constant) {} // NOLINT: numbers are functions
    /// Return the coordinate `axis` (3: time) at a value.
    static Jet coordinate(std::size_t axis, double value) {
        Jet jet(value);
        jet.d[axis] = 1;
        return jet;
    }
    /// Return f(*this), given f, f' and f'' at the value.
    [[nodiscard]] Jet apply(double f, double first, double second) const {
        Jet jet(f);
        for (std::size_t a = 0; a < 4; ++a)
            jet.d[a] = first * d[a];
        jet.laplacian = first * laplacian + second * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        return jet;
    }
};

inline Jet operator+(const Jet& f, const Jet& g) {
    Jet jet(f.value + g.value);
    for (std::size_t a = 0; a < 4; ++a)
        jet.d[a] = f.d[a] + g.d[a];
    jet.laplacian = f.laplacian + g.laplacian;
    return jet;
}
inline Jet operator*(const Jet& f, const Jet& g) {
    Jet jet(f.value * g.value);
    for (std::size_t a = 0; a < 4; ++a)
        jet.d[a] = f.d[a] * g.value + f.value * g.d[a];
    jet.laplacian = f.laplacian * g.value + f.value * g.laplacian +
                    2 * (f.d[0] * g.d[0] + f.d[1] * g.d[1] + f.d[2] * g.d[2]);
    return jet;
}
inline Jet operator-(const Jet& f, const Jet& g) { return f + g * Jet(-1); }
inline Jet sin(const Jet& f) {
    const double s = std::sin(f.value), c = std::cos(f.value);
    return f.apply(s, c, -s);
}
inline Jet cos(const Jet& f) {
    const double s = std::sin(f.value), c = std::cos(f.value);
    return f.apply(c, -s, -c);
}

} // namespace uzushio
