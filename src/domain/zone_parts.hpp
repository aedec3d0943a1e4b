#pragma once

#include <cstddef>
#include <vector>

#include "domain/mesh.hpp"

namespace uzushio::domain {

/// Cut a zone into `parts` boxes of cells by planes, with the minimum surface between them, i
/// fastest. The result is empty if there is no such cut.
[[nodiscard]] std::vector<Box<3>> zone_parts(const Mesh& mesh, int zone, int parts);

/// Return whether slabs across an axis of the only zone, one for each rank, send fewer values than
/// the cut with the minimum surface, whose values are moved to such slabs and back.
///
/// layers: ghost layers of all arrays that are exchanged.
[[nodiscard]] bool are_slabs_cheaper(const Mesh& mesh, std::size_t axis, int ranks, int layers);

} // namespace uzushio::domain
