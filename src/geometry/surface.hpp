#pragma once

#include <cstddef>
#include <vector>

#include "domain/index.hpp"

namespace uzushio::geometry {

/// Point where a line parallel to an axis meets a surface.
struct Crossing {
    double position = 0;     ///< along the axis
    domain::Vector normal{}; ///< unit normal of the surface, of either sign
    int turn = 0;            ///< change of the winding number, of either sign; 0: not known
};

/// Count of the crossings of a line with a surface before a point.
class Winding {
  public:
    void pass(const Crossing& crossing) {
        ++crossings_;
        number_ += crossing.turn;
        is_known_ = is_known_ || crossing.turn != 0;
    }
    /// Return whether the point is inside: by the winding number, or, where it is not known, after
    /// an odd number of crossings.
    [[nodiscard]] bool is_inside() const { return is_known_ ? number_ != 0 : crossings_ % 2 != 0; }

  private:
    int crossings_ = 0, number_ = 0;
    bool is_known_ = false;
};

/// Corners of a box parallel to the axes.
struct Bounds {
    domain::Vector lower{};
    domain::Vector upper{};
};

/// Surface of a body. It may be open: `find_regions` finds the fluid cells without using the sign
/// of normals.
class Surface {
  public:
    virtual ~Surface() = default;

    /// Append the points where the line parallel to `axis` through `point` meets the surface, in
    /// any order. A closed surface is met an even number of times.
    virtual void crossings(std::size_t axis, const domain::Vector& point,
                           std::vector<Crossing>& crossings) const = 0;

    /// Return a box that contains the surface.
    [[nodiscard]] virtual Bounds bounds() const = 0;

    /// Return whether every line parallel to axis 0 meets the surface an even number of times, and
    /// `Winding` tells where it is inside. Then `CutLinks` separate inside and outside on any
    /// lattice.
    [[nodiscard]] virtual bool is_closed() const { return false; }
};

} // namespace uzushio::geometry
