#pragma once

#include <vector>

#include "domain/mesh.hpp"

namespace uzushio::domain {

/// Cut a zone into `parts` boxes of cells by planes, with the minimum surface between them, i
/// fastest. The result is empty if there is no such cut.
[[nodiscard]] std::vector<Box<3>> zone_parts(const Mesh& mesh, int zone, int parts);

} // namespace uzushio::domain
