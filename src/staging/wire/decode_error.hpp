#pragma once

#include "staging/staging_error.hpp"

namespace uzushio::staging {

/// Bytes that are not a message, or one that is larger than allowed. The text is a whole sentence;
/// the connection that they came from can only be closed.
class DecodeError : public StagingError {
  public:
    using StagingError::StagingError;
};

} // namespace uzushio::staging
