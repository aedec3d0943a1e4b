#pragma once

#include <stdexcept>

namespace uzushio::staging {

/// Something that the user of staging can do something about; the text is a whole sentence that
/// says what. On a group of ranks all throw, with the same text.
class StagingError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The other side is gone, or was never there: its process ended, or the connection was cut.
class PeerGone : public StagingError {
  public:
    using StagingError::StagingError;
};

/// The other side is there, and did not answer in time.
class PeerSilent : public StagingError {
  public:
    using StagingError::StagingError;
};

} // namespace uzushio::staging
