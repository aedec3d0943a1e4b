#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "staging/transport/mpi/get_lane.hpp"
#include "staging/transport/mpi/lane.hpp"

namespace uzushio::staging::mpi {

/// Gets pieces, and asks the writer for those that MPI will not let it get.
///
/// That happens though the writer holds the step, and with it the memory, for this reader. Open
/// MPI's osc/rdma (5.0) keeps what is attached to a window in an array ordered by address. Where
/// all ranks are on one node, readers search that array in the writer's shared memory without its
/// lock; elsewhere they fetch it with a length that they read before they had the lock. To attach
/// a segment, the writer first moves those at higher addresses up by one place, and then raises the
/// length: until it has, readers miss the last segment, and MPI_Rget returns MPI_ERR_RMA_RANGE.
/// (And mmap mostly gives falling addresses, so that nearly all segments move.) That lasts less
/// than a microsecond, or until the writer gets its core back. To detach one does the same the
/// other way round.
///
/// A get that is refused therefore says nothing about whether the writer still has the step. The
/// writer knows, and sends either the values or that it is gone; it does not answer if it has
/// closed the stream.
class PullLane : public Lane {
  public:
    /// `ask`: makes the lane for those of the pieces that `get` has not brought, from this one on.
    PullLane(std::unique_ptr<GetLane> get, int writer,
             std::function<std::unique_ptr<Lane>(std::size_t first)> ask);

    bool progress() override;
    [[nodiscard]] bool done() const override;
    void give_up() const override;

  private:
    std::unique_ptr<GetLane> get_; ///< null once the rest has been asked for
    std::unique_ptr<Lane> rest_;
    int writer_; ///< its rank among writers
    std::function<std::unique_ptr<Lane>(std::size_t)> ask_;
    std::string refusal_;
};

} // namespace uzushio::staging::mpi
