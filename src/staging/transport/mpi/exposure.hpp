#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "staging/queue/segment.hpp"

namespace uzushio::staging::mpi {

/// What is at a segment's addresses once it has gone.
enum class Remains { nothing, zeros, values };

/// The segments of one rank of a writer, and the windows through which readers get from them. Both
/// come and go while the other is in use: each segment is attached to each window. Any thread may
/// call anything.
///
/// Dynamic windows, because a segment grows when the solver's step does, and readers need not be
/// there then: attaching is each rank's own, where every other kind of window is made by all.
/// While something is attached or detached, readers' gets from the rest may be refused (PullLane).
///
/// A get may come after its segment has gone, from a reader that has given up (Ctrl-C, its time
/// limit), or that the stream did not wait for when it was closed. Where no hardware reads, it is
/// this process that then reads for it, in any call of MPI. So addresses that were once attached
/// stay mapped, to zeros that take no memory, and are used again; the former reader looks at
/// nothing of what it gets. The latter may: what it was getting stays as it is (`keep`).
class Exposure : public std::enable_shared_from_this<Exposure> {
  public:
    /// `SegmentPlace` of a segment: process 1, handle its address, so that it says itself whether
    /// readers can get from it: zeros if MPI refused to attach it.
    [[nodiscard]] std::unique_ptr<Segment> make_segment(std::size_t bytes);

    /// Let readers at all segments through this window, now and later. Returns whether MPI allows
    /// it.
    [[nodiscard]] bool open(MPI_Win window);

    /// From now on keep the values of segments that go: for good, and only at a stream's end.
    void keep();

    /// To one window, of all streams of this process: values of others are sent. Open MPI allows 64
    /// (osc/rdma), 48 or 32 (osc/ucx); and osc/rdma 5.0 keeps a lock when it refuses one more: who
    /// attaches or detaches next waits for ever.
    static constexpr std::size_t most_attached = 32;

  private:
    class Exposed;

    [[nodiscard]] bool add(std::span<std::byte> bytes);
    [[nodiscard]] Remains remove(std::span<std::byte> bytes);

    std::mutex mutex_;
    std::vector<MPI_Win> windows_;
    std::vector<std::span<std::byte>> segments_;
    bool kept_ = false;
};

} // namespace uzushio::staging::mpi
