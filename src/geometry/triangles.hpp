#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "geometry/orientation.hpp"
#include "geometry/surface.hpp"

namespace uzushio::geometry {

/// Surface of triangles.
///
/// A line meets a triangle if an odd number of the triangle's sides, projected along the line,
/// cross the half-line from the line's point towards higher positions. Whether a side crosses it
/// depends on that side alone, so that triangles that share a side agree on it: rounding can
/// neither lose nor double a crossing of a closed surface. A line through a side or a corner counts
/// as a line at an infinitesimal distance below. Triangles with equal corners have no effect, nor
/// have repetitions of triangles; those with three corners on a line are kept, because their
/// neighbours share sides with them.
class Triangles : public Surface {
  public:
    /// Throws `std::invalid_argument` if there are no triangles.
    explicit Triangles(std::vector<Triangle> triangles);

    void crossings(std::size_t axis, const domain::Vector& point,
                   std::vector<Crossing>& crossings) const override;
    [[nodiscard]] Bounds bounds() const override { return bounds_; }
    [[nodiscard]] bool is_closed() const override { return open_sides_ == 0; }

    [[nodiscard]] std::span<const Triangle> all() const { return triangles_; }
    /// Return the number of sides that belong to an odd number of triangles.
    [[nodiscard]] std::int64_t open_sides() const { return open_sides_; }
    /// Return the place where the surface does not decide what is inside, if there is one.
    [[nodiscard]] const std::optional<Undecided>& undecided() const {
        return orientation_.undecided;
    }

  private:
    /// Rectangles of a plane normal to an axis, each with the triangles whose projections may
    /// overlap it.
    class Bins {
      public:
        Bins(const std::vector<Triangle>& triangles, const Bounds& bounds, std::size_t axis);
        /// Call `visit` with the number of each triangle that the projected point may be in.
        template <class Visit> void visit(const domain::Vector& point, const Visit& visit) const;

      private:
        [[nodiscard]] std::size_t bin(std::size_t direction, double position) const;
        std::array<std::size_t, 2> axes_; ///< of the plane
        std::array<std::size_t, 2> counts_{1, 1};
        std::array<double, 2> origin_, width_;
        std::vector<std::size_t> first_; ///< in `numbers_`, of each bin and after the last
        std::vector<std::uint32_t> numbers_;
    };

    std::vector<Triangle> triangles_;
    std::vector<domain::Vector> normals_;
    Bounds bounds_;
    std::int64_t open_sides_;
    Orientation orientation_;
    std::vector<Bins> bins_; ///< of each axis
};

} // namespace uzushio::geometry
