#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "staging/engine_options.hpp"
#include "staging/transport/mpi/peer_ranks.hpp"

namespace uzushio::staging::mpi {

/// Windows between the ranks of a writer and those of a reader, for push and pull.
///
/// Making and freeing windows is collective, and the other side may never call it again. Therefore
/// windows are made once for two groups of processes, for all their streams, and never freed: a job
/// has few such groups, and MPI_Finalize frees them.
class Windows {
  public:
    explicit Windows(const PeerRanks& peers);
    Windows(const Windows&) = delete;
    Windows& operator=(const Windows&) = delete;

    /// Make the windows of `mode`, unless they exist; see make_windows. Blocks until all ranks have
    /// called it.
    [[nodiscard]] bool make(MpiMode mode, const std::function<bool(MPI_Win)>& expose);

    /// Window through which readers get from writers' memory. Its addresses are those of the
    /// writer's process. Errors are returned.
    [[nodiscard]] MPI_Win get_window() const { return get_window_; }
    /// Window through which writers put into the readers' memory: `put_buffer_bytes` of each
    /// reader.
    [[nodiscard]] MPI_Win put_window() const { return put_window_; }
    /// This reader's part of it.
    [[nodiscard]] std::span<std::byte> put_buffer() const {
        return {put_buffer_, put_buffer_bytes};
    }

    /// Ranks in the windows.
    [[nodiscard]] static int writer(int rank) { return rank; }
    [[nodiscard]] int reader(int rank) const { return writers_ + rank; }

    static constexpr std::size_t put_buffer_bytes = std::size_t{16} << 20;

  private:
    std::vector<std::int32_t> ranks_; ///< in MPI_COMM_WORLD, the writers' first
    int writers_ = 0;
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Win get_window_ = MPI_WIN_NULL;
    MPI_Win put_window_ = MPI_WIN_NULL;
    std::byte* put_buffer_ = nullptr;
};

/// Windows that may still be in creation. Null in the end if a rank's memory cannot be exposed.
using PendingWindows = std::shared_future<std::shared_ptr<const Windows>>;

/// Return whether the windows are ready on all ranks, without waiting.
[[nodiscard]] inline bool is_ready(const PendingWindows& windows) {
    return windows.valid() &&
           windows.wait_for(std::chrono::seconds(0)) == std::future_status::ready &&
           windows.get() != nullptr;
}

/// Make the windows of `mode`, or return existing ones. Collective over both sides, in the same
/// order everywhere for the same two groups. `expose`: on writers, exposes this rank's memory
/// through the window, and returns whether MPI allows it.
///
/// MPI makes windows, and communicators of a part of the processes, in calls that block (also in
/// MPI 4) and cannot be cancelled: if a process is stopped, they block all others until it
/// continues. Therefore they run in a thread of their own, and values are sent until the windows
/// are ready. A process without MPI_THREAD_MULTIPLE (a reader) makes them before this returns,
/// however long that takes.
[[nodiscard]] PendingWindows make_windows(const PeerRanks& peers, MpiMode mode,
                                          std::function<bool(MPI_Win)> expose = {});

/// Return MPI's text of an error code.
[[nodiscard]] std::string text_of(int error);

} // namespace uzushio::staging::mpi
