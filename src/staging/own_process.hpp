#pragma once

#include <unistd.h>

namespace uzushio::staging {

/// The process that made this. A forked child has a copy of everything and none of the threads:
/// what it destroys or says on its way out is its parent's. Where `here` is false, leave threads,
/// connections, files and shared memory alone.
class OwnProcess {
  public:
    [[nodiscard]] bool here() const { return ::getpid() == number_; }

  private:
    pid_t number_ = ::getpid();
};

} // namespace uzushio::staging
