#pragma once

#include <functional>

#include "domain/boundary_region.hpp"
#include "domain/view.hpp"

namespace uzushio::domain {

/// Ghosts of one array of a block beyond a boundary patch.
struct BoundaryGhosts {
    View<double> values; ///< the array
    Box<3> box;          ///< the ghosts, in the array's indices
    Stagger stagger{};
    const BoundaryRegion* region = nullptr;

    /// Return the index of a ghost's mirror image in the boundary.
    [[nodiscard]] Index<3> mirrored(const Index<3>& ghost) const {
        return region->mirrored(ghost, stagger);
    }
};

/// Boundary condition of a field: sets the ghosts beyond a patch at a time.
using GhostFill = std::function<void(const BoundaryGhosts& ghosts, double time)>;

/// The field has this value at the boundary: ghosts are 2 value - mirror image.
[[nodiscard]] GhostFill fixed_value(double value);

/// The field has no gradient across the boundary: ghosts equal their mirror images.
[[nodiscard]] GhostFill zero_gradient();

} // namespace uzushio::domain
