#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "staging/queue/segment.hpp"

namespace uzushio::staging::mpi {

/// Content of a segment's addresses after its release.
enum class AddressContents { unmapped, zeros, values };

/// Segments of one rank of a writer, and the windows through which readers get from them. Both are
/// added and removed while the other is in use: each segment is attached to each window.
/// Thread-safe.
///
/// The windows are dynamic because segments grow with the solver's step: attaching is local, while
/// all other kinds of windows are made collectively. While a segment is attached or detached, gets
/// from the others may be refused (GetTransfer).
///
/// A get may arrive after the release of its segment, from a reader that was interrupted or timed
/// out, or for which the stream did not wait when it was closed. Without RDMA hardware, this
/// process then reads the memory in any call of MPI. Therefore addresses that were once attached
/// stay mapped to zeros that take no memory, and are used again. A reader that timed out discards
/// the received values; for a reader that may still use them, segments keep their values
/// (`retain_values`).
class ExposedSegments : public std::enable_shared_from_this<ExposedSegments> {
  public:
    /// Make a segment. Its `SegmentPlace` has process 1 and the address as handle; it is zero if
    /// MPI refused to attach the segment, and readers cannot get from it.
    [[nodiscard]] std::unique_ptr<Segment> make_segment(std::size_t bytes);

    /// Expose all segments through this window, now and later. Return whether MPI allows it.
    [[nodiscard]] bool open(MPI_Win window);

    /// Keep the values of all segments that are released from now on, permanently; for the end of a
    /// stream.
    void retain_values();

    /// Maximum segments of one window, of all streams of this process; values of others are sent.
    /// Open MPI allows 64 (osc/rdma), 48 or 32 (osc/ucx); osc/rdma 5.0 keeps a lock when it refuses
    /// one more, so that the next attach or detach would block for ever.
    static constexpr std::size_t max_attached = 32;

  private:
    class ExposedSegment;

    [[nodiscard]] bool add(std::span<std::byte> bytes);
    [[nodiscard]] AddressContents remove(std::span<std::byte> bytes);

    std::mutex mutex_;
    std::vector<MPI_Win> windows_;
    std::vector<std::span<std::byte>> segments_;
    bool retain_values_ = false;
};

} // namespace uzushio::staging::mpi
