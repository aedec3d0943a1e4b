#pragma once

#include "staging/staging_error.hpp"

namespace uzushio::staging {

/// Invalid message, or one that exceeds a limit. The text is a whole sentence. The connection must
/// be closed.
class DecodeError : public StagingError {
  public:
    using StagingError::StagingError;
};

} // namespace uzushio::staging
