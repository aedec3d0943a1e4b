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
#include "staging/transport/mpi/link.hpp"

namespace uzushio::staging::mpi {

/// What push and pull need between the ranks of a writer and those of a reader.
///
/// To make windows and to free them is collective, and nobody knows when the other side will be
/// there once more, or whether. So they are made once for two groups of processes, whatever streams
/// they open after each other, and never freed: a job has only so many groups, and MPI_Finalize
/// takes the rest.
class Windows {
  public:
    explicit Windows(const Link& link);
    Windows(const Windows&) = delete;
    Windows& operator=(const Windows&) = delete;

    /// Make what `mode` needs, unless it is there; see make_windows. Blocks until all have come.
    [[nodiscard]] bool make(MpiMode mode, const std::function<bool(MPI_Win)>& expose);

    /// Through which readers get from writers' memory. Addresses in it are those of the writer's
    /// process. Errors are returned.
    [[nodiscard]] MPI_Win exposed() const { return exposed_; }
    /// Through which writers put into the readers' memory: `landing_bytes` of each.
    [[nodiscard]] MPI_Win landing() const { return landing_; }
    /// This reader's own part of it.
    [[nodiscard]] std::span<std::byte> landed() const { return {landed_, landing_bytes}; }

    /// Ranks in the windows.
    [[nodiscard]] static int writer(int rank) { return rank; }
    [[nodiscard]] int reader(int rank) const { return writers_ + rank; }

    static constexpr std::size_t landing_bytes = std::size_t{16} << 20;

  private:
    std::vector<std::int32_t> ranks_; ///< in MPI_COMM_WORLD, the writers' first
    int writers_ = 0;
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Win exposed_ = MPI_WIN_NULL;
    MPI_Win landing_ = MPI_WIN_NULL;
    std::byte* landed_ = nullptr;
};

/// Windows in the making. Null in the end if some rank's memory cannot be exposed.
using WindowsToCome = std::shared_future<std::shared_ptr<const Windows>>;

/// Whether they are there, on all ranks; looks only.
[[nodiscard]] inline bool is_there(const WindowsToCome& windows) {
    return windows.valid() &&
           windows.wait_for(std::chrono::seconds(0)) == std::future_status::ready &&
           windows.get() != nullptr;
}

/// Make, or find, what `mode` needs. Collective over both sides, in the same order everywhere for
/// the same two. `expose`: on writers, lets readers at this rank's memory through the window, and
/// tells whether MPI allows it.
///
/// MPI makes windows, and communicators over some of the processes, in calls that block (MPI 4 too)
/// and cannot be taken back: if a process is stopped, that of all others lasts until it goes on.
/// So they are made in a thread of their own, and values are sent until they are there. A process
/// without MPI_THREAD_MULTIPLE (a reader) makes them before this returns, however long that takes.
[[nodiscard]] WindowsToCome make_windows(const Link& link, MpiMode mode,
                                         std::function<bool(MPI_Win)> expose = {});

/// MPI's text of an error code.
[[nodiscard]] std::string text_of(int error);

} // namespace uzushio::staging::mpi
