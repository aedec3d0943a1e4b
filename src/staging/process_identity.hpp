#pragma once

#include <unistd.h>

namespace uzushio::staging {

/// Process that constructed the object. A forked child has copies of the objects, but not the
/// threads. If `here` is false, do not use threads, connections, files and shared memory.
class ProcessIdentity {
  public:
    [[nodiscard]] bool here() const { return ::getpid() == number_; }

  private:
    pid_t number_ = ::getpid();
};

} // namespace uzushio::staging
