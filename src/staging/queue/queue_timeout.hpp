#pragma once

#include "staging/staging_error.hpp"

namespace uzushio::staging {

/// No reader made room in time, and the queue was told to fail then.
class QueueTimeout : public StagingError {
  public:
    using StagingError::StagingError;
};

} // namespace uzushio::staging
