#pragma once

#include "staging/staging_error.hpp"

namespace uzushio::staging {

/// A step, or a request for a part of one, that contradicts itself. The text is a whole sentence.
class ModelError : public StagingError {
  public:
    using StagingError::StagingError;
};

} // namespace uzushio::staging
