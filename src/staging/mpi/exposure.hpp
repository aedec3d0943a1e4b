#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "staging/segment.hpp"

namespace uzushio::staging::mpi {

/// The segments of one rank of a writer, and the windows through which readers get from them. Both
/// come and go while the other is in use: each segment is attached to each window. Any thread may
/// call anything.
///
/// Dynamic windows, because a segment grows when the solver's step does, and readers need not be
/// there then: attaching is each rank's own, where every other kind of window is made by all.
/// While something is attached or detached, readers' gets from the rest may be refused (PullLane).
class Exposure : public std::enable_shared_from_this<Exposure> {
  public:
    /// `SegmentPlace` of a segment: process 1, handle its address, so that it says itself whether
    /// readers can get from it: zeros if MPI refused to attach it.
    [[nodiscard]] std::unique_ptr<Segment> make_segment(std::size_t bytes);

    /// Let readers at all segments through this window, now and later. Returns whether MPI allows
    /// it.
    [[nodiscard]] bool open(MPI_Win window);

    /// To one window, of all streams of this process: values of others are sent. Open MPI allows 64
    /// (osc/rdma), 48 or 32 (osc/ucx); and osc/rdma 5.0 keeps a lock when it refuses one more: who
    /// attaches or detaches next waits for ever.
    static constexpr std::size_t most_attached = 32;

  private:
    class Exposed;

    [[nodiscard]] bool add(std::span<std::byte> bytes);
    void remove(std::span<std::byte> bytes);

    std::mutex mutex_;
    std::vector<MPI_Win> windows_;
    std::vector<std::span<std::byte>> segments_;
};

} // namespace uzushio::staging::mpi
