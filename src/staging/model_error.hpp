#pragma once

#include <stdexcept>

namespace uzushio::staging {

/// A step, or a request for a part of one, that contradicts itself. The text is a whole sentence.
class ModelError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

} // namespace uzushio::staging
