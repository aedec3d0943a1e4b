#pragma once

#include <array>
#include <cmath>

namespace uzushio::raycast {

/// (x, y, z) in the mesh's coordinates.
using Vector3 = std::array<double, 3>;

[[nodiscard]] constexpr Vector3 operator+(const Vector3& a, const Vector3& b) {
    return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
[[nodiscard]] constexpr Vector3 operator-(const Vector3& a, const Vector3& b) {
    return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
[[nodiscard]] constexpr Vector3 operator*(double s, const Vector3& a) {
    return {s * a[0], s * a[1], s * a[2]};
}
[[nodiscard]] constexpr double dot(const Vector3& a, const Vector3& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
[[nodiscard]] constexpr Vector3 cross(const Vector3& a, const Vector3& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
[[nodiscard]] inline double norm(const Vector3& a) { return std::sqrt(dot(a, a)); }

} // namespace uzushio::raycast
