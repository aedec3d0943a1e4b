#pragma once

#include "staging/staging_error.hpp"

namespace uzushio::staging {

/// No reader released a step within the time limit, and `on_timeout` is `fail`.
class QueueTimeout : public StagingError {
  public:
    using StagingError::StagingError;
};

} // namespace uzushio::staging
