#pragma once

#include <array>
#include <memory>
#include <vector>

#include "domain/box.hpp"
#include "geometry/surface.hpp"

namespace uzushio::geometry {

/// Points of a rectilinear grid: cell centres, or centres of faces. Those of ghosts have the
/// positions beyond the boundary, also of a periodic axis.
struct Lattice {
    domain::Box<3> box;                           ///< indices of the points
    std::array<std::vector<double>, 3> positions; ///< along each axis, from `box.lower`
    [[nodiscard]] double position(std::size_t axis, std::int64_t index) const {
        return positions[axis][static_cast<std::size_t>(index - box.lower[axis])];
    }
};

/// Surface of a body between two neighbouring points of a lattice. A crossing at a point belongs to
/// the link above it.
struct CutLink {
    domain::Index<3> at{}; ///< lower one of the two points
    /// Crossings nearest to the lower and to the upper point, the numbers of their bodies and the
    /// normals there; a single crossing is both.
    Crossing lower, upper;
    int lower_body = 0, upper_body = 0;
};

/// Links along one axis that surfaces cut, in the order of k, j, i.
///
/// Points are inside a closed surface by the `Winding` of a line along axis 0 before them. A link
/// with one end inside is always cut, also where rounding, or a line that only touches the surface,
/// shows no crossing: it is then at the end that is nearer to the surface. Thus no path of uncut
/// links joins inside and outside.
class CutLinks {
  public:
    CutLinks() = default;
    /// Find the links between points of a lattice along `axis`. In a mesh of two dimensions the
    /// lattice has one point along the last axis, in the plane of the section.
    CutLinks(const std::vector<std::shared_ptr<const Surface>>& bodies, const Lattice& lattice,
             std::size_t axis);

    /// Return the link from point `at` to the next along the axis; null: not cut.
    [[nodiscard]] const CutLink* find(const domain::Index<3>& at) const;

    [[nodiscard]] const std::vector<CutLink>& all() const { return links_; }

  private:
    std::vector<CutLink> links_;
};

} // namespace uzushio::geometry
