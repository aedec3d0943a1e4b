#pragma once

#include <vector>

#include "domain/decomposition.hpp"
#include "domain/index_map.hpp"

namespace uzushio::domain {

/// Ghosts of one block beyond one boundary patch. Edges between two boundary conditions belong to
/// that of the higher axis; edges between a condition and a connection belong to the condition.
struct BoundaryRegion {
    Block block;
    std::size_t local = 0; ///< index of the block among its rank's, as in `Field`
    Patch patch;           ///< of the zone
    Index<3> zone_cells{};
    Index<3> active{}; ///< 1 for each axis of the mesh
    Box<3> limits;     ///< edges outside belong to other conditions

    /// Return the ghost indices of values with this stagger, in an array with `layers` ghost
    /// layers. May be empty.
    [[nodiscard]] Box<3> ghosts(int layers, const Stagger& stagger = {}) const;

    /// Return the index of the mirror image in the face's plane, inside the zone.
    [[nodiscard]] Index<3> mirrored(Index<3> index, const Stagger& stagger = {}) const {
        const std::size_t a = patch.face.axis;
        const std::int64_t plane = patch.face.is_upper() ? zone_cells[a] : 0;
        index[a] = 2 * plane - index[a] - (stagger[a] ? 0 : 1);
        return index;
    }
};

/// Boundary region and the name of its condition.
struct NamedRegion {
    std::string condition;
    BoundaryRegion region;
};

/// Return the boundary regions of a rank's blocks that have ghosts in arrays with `layers` ghost
/// layers. Those of lower axes are first, so that edges are filled from valid ghosts.
[[nodiscard]] std::vector<NamedRegion> boundary_regions(const Decomposition& decomposition,
                                                        int rank, int layers);

} // namespace uzushio::domain
