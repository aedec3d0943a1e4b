#pragma once

#include <vector>

#include "domain/box_set.hpp"
#include "domain/mesh.hpp"

namespace uzushio::domain {

/// Location in the mesh of the values of a box of ghosts.
struct GhostSource {
    Box<3> target;        ///< ghosts, in the indices of their zone
    int zone = 0;         ///< zone of the values
    IndexMap map;         ///< to the indices of that zone
    Vector translation{}; ///< from the ghosts' positions to those of the values
};

/// Find the values of a box of indices that may be outside `zone`, across any number of
/// connections; edges and corners are found across several, that of the lowest axis first. Return
/// the indices beyond boundary conditions.
///
/// The result depends on the zones only, not on their decomposition into blocks.
[[nodiscard]] BoxSet<3> find_sources(const Mesh& mesh, int zone, const Stagger& stagger,
                                     const Box<3>& box, std::vector<GhostSource>& sources);

} // namespace uzushio::domain
