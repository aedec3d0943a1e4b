#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "staging/transport/mpi/get_transfer.hpp"
#include "staging/transport/mpi/rank_transfer.hpp"

namespace uzushio::staging::mpi {

/// Transfer by gets that requests refused pieces from the writer.
///
/// MPI may refuse a get although the writer holds the step, and with it the memory, for this
/// reader. Open MPI's osc/rdma (5.0) keeps the attached segments of a window in an array ordered by
/// address. If all ranks are on one node, readers search that array in the writer's shared memory
/// without its lock; elsewhere they fetch it with a length that they read before they had the lock.
/// To attach a segment, the writer first moves those at higher addresses up by one place, and then
/// raises the length: until then readers miss the last segment, and MPI_Rget returns
/// MPI_ERR_RMA_RANGE. (mmap mostly returns falling addresses, so that nearly all segments move.)
/// That lasts less than a microsecond, or until the writer's thread is scheduled again. Detaching
/// has the same effect in the reverse order.
///
/// Therefore a refused get does not show whether the writer still has the step. The writer sends
/// either the values or an error; it does not answer if it has closed the stream.
class PullTransfer : public RankTransfer {
  public:
    /// `request` makes the transfer of the pieces from `first` on, which `get` has not received.
    PullTransfer(std::unique_ptr<GetTransfer> get, int writer,
                 std::function<std::unique_ptr<RankTransfer>(std::size_t first)> request);

    bool progress() override;
    [[nodiscard]] bool done() const override;
    void throw_if_unreachable() const override;

  private:
    std::unique_ptr<GetTransfer> get_; ///< null once the remaining pieces are requested
    std::unique_ptr<RankTransfer> fallback_;
    int writer_; ///< rank among writers
    std::function<std::unique_ptr<RankTransfer>(std::size_t)> make_request_transfer_;
    std::string refusal_;
};

} // namespace uzushio::staging::mpi
