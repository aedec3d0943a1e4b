#pragma once

#include <memory>

#include "geometry/surface.hpp"

namespace uzushio::geometry {

/// Surfaces of simple shapes. All throw `std::invalid_argument` if a size is not above 0.
[[nodiscard]] std::shared_ptr<const Surface> sphere(const domain::Vector& centre, double radius);

/// Box parallel to the axes, between two corners.
[[nodiscard]] std::shared_ptr<const Surface> box(const domain::Vector& lower,
                                                 const domain::Vector& upper);

/// Circular cylinder parallel to an axis, closed at both ends; `length` may be infinite.
[[nodiscard]] std::shared_ptr<const Surface> cylinder(const domain::Vector& centre, double radius,
                                                      std::size_t axis, double length);

/// Surface whose crossings along an axis are rounded to multiples of `quanta[axis]`, powers of 2,
/// and then displaced by a vector, such as the image of a body across a periodic boundary. If
/// points and displacements are such multiples, a displaced surface is exactly where the first one
/// is, seen from points that are displaced too.
[[nodiscard]] std::shared_ptr<const Surface> placed(std::shared_ptr<const Surface> surface,
                                                    const domain::Vector& displacement,
                                                    const domain::Vector& quanta);

} // namespace uzushio::geometry
