#pragma once

#include <optional>
#include <string>
#include <vector>

#include "geometry/triangle.hpp"

namespace uzushio::geometry {

/// Place of a surface where it does not divide inside from outside, and the reason.
struct Undecided {
    domain::Vector at{};
    std::string reason;
};

/// Senses of the triangles of a surface.
///
/// A connected part whose triangles share each side with one other is turned as a whole: outwards,
/// or inwards if it is the wall of a cavity, which the file shows by triangles of the opposite
/// sense to those of the part around it.
struct Orientation {
    std::vector<signed char> sense; ///< of each triangle: -1: its second and third corner change
    std::optional<Undecided> undecided;
};

/// Return the senses of triangles, none of which has equal corners.
[[nodiscard]] Orientation orientation_of(const std::vector<Triangle>& triangles);

} // namespace uzushio::geometry
