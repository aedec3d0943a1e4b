#pragma once

#include "domain/mesh.hpp"

namespace uzushio::domain {

/// Throw `MeshError` if names, cells, patches or connections of zones contradict each other, or
/// vertices that a connection joins do not coincide.
void validate(int dimension, const std::vector<Zone>& zones);

} // namespace uzushio::domain
