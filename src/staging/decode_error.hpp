#pragma once

#include <stdexcept>

namespace uzushio::staging {

/// Bytes that are not a message, or one that is larger than allowed. The text is a whole sentence;
/// the connection that they came from can only be closed.
class DecodeError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

} // namespace uzushio::staging
