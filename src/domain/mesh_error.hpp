#pragma once

#include <stdexcept>

namespace uzushio::domain {

/// Inconsistent mesh or decomposition. The text names zone, face and range.
class MeshError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

} // namespace uzushio::domain
