#pragma once

#include "domain/mesh.hpp"

namespace uzushio::domain {

/// Throw `MeshError` if names, cells, patches or connections of zones are inconsistent, or if
/// connected vertices do not coincide.
void validate(int dimension, const std::vector<Zone>& zones);

} // namespace uzushio::domain
