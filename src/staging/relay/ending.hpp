#pragma once

#include <mpi.h>

#include "parallel/collective_group.hpp"

namespace uzushio::staging::relay {

/// Lets rank 0 tell the other ranks of a group that it has ended, while all do something else.
class Ending {
  public:
    explicit Ending(const parallel::CollectiveGroup& group); ///< `group` outlives it
    ~Ending();
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

    void announce(); ///< does something on rank 0, once
    /// Whether rank 0 has ended; never on rank 0 itself.
    [[nodiscard]] bool announced();

  private:
    const parallel::CollectiveGroup& group_;
    bool told_ = false;
    MPI_Request request_ = MPI_REQUEST_NULL; ///< of ranks that are to be told
};

} // namespace uzushio::staging::relay
