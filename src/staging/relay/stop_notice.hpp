#pragma once

#include <mpi.h>

#include "parallel/collective_group.hpp"

namespace uzushio::staging::relay {

/// Notice from rank 0 to the other ranks of a group that it has ended.
class StopNotice {
  public:
    explicit StopNotice(const parallel::CollectiveGroup& group); ///< `group` outlives it
    ~StopNotice();
    StopNotice(const StopNotice&) = delete;
    StopNotice& operator=(const StopNotice&) = delete;

    void send(); ///< acts on rank 0, once
    /// Return whether rank 0 has ended; always false on rank 0 itself.
    [[nodiscard]] bool received();

  private:
    const parallel::CollectiveGroup& group_;
    bool stopped_ = false;
    MPI_Request request_ = MPI_REQUEST_NULL; ///< on ranks other than 0
};

} // namespace uzushio::staging::relay
