#pragma once

#include <stdexcept>

namespace uzushio::staging {

/// Error of staging for the user; the text is a whole sentence. Collective functions throw it with
/// the same text on all ranks.
class StagingError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The peer does not exist (any more): its process ended, or the connection was closed.
class PeerGone : public StagingError {
  public:
    using StagingError::StagingError;
};

/// The peer did not answer in time.
class PeerSilent : public StagingError {
  public:
    using StagingError::StagingError;
};

} // namespace uzushio::staging
