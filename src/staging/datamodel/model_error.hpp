#pragma once

#include "staging/staging_error.hpp"

namespace uzushio::staging {

/// Inconsistent step or request. The text is a whole sentence.
class ModelError : public StagingError {
  public:
    using StagingError::StagingError;
};

} // namespace uzushio::staging
