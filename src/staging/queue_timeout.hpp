#pragma once

#include <stdexcept>

namespace uzushio::staging {

/// No reader made room in time, and the queue was told to fail then.
class QueueTimeout : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

} // namespace uzushio::staging
