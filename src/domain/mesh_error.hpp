#pragma once

#include <stdexcept>

namespace uzushio::domain {

/// A mesh, or a decomposition of one, that contradicts itself. The text names zone, face and range.
class MeshError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

} // namespace uzushio::domain
