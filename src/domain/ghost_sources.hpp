#pragma once

#include <vector>

#include "domain/box_set.hpp"
#include "domain/mesh.hpp"

namespace uzushio::domain {

/// Where in the mesh the values of a box of ghosts are.
struct GhostSource {
    Box<3> target;        ///< in the indices of the zone that has the ghosts
    int zone = 0;         ///< that holds the values
    IndexMap map;         ///< to its indices
    Vector translation{}; ///< from the ghosts' positions to those of the values
};

/// Find the values of a box of indices that may lie outside of `zone`, across as many connections
/// as it takes; edges and corners go across several, that of the lowest axis first. Return the
/// indices that lie beyond boundary conditions.
///
/// A result depends on the zones alone: values do not change with how zones are cut into blocks.
[[nodiscard]] BoxSet<3> find_sources(const Mesh& mesh, int zone, const Stagger& stagger,
                                     const Box<3>& box, std::vector<GhostSource>& found);

} // namespace uzushio::domain
