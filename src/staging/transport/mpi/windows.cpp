#include "staging/transport/mpi/windows.hpp"

#include <array>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "parallel/backoff.hpp"
#include "staging/transport/mpi/job_state.hpp"

namespace uzushio::staging::mpi {
namespace {

/// Return a tag that separates the calls of several threads that make windows with other processes.
int tag_of(const std::vector<std::int32_t>& ranks) {
    std::uint32_t hash = 2166136261u; // FNV-1a
    for (const auto rank : ranks)
        hash = (hash ^ static_cast<std::uint32_t>(rank)) * 16777619u;
    return static_cast<int>(hash % 32768);
}

/// Return whether `holds` is true on all ranks; waits asleep.
bool all(MPI_Comm comm, bool holds) {
    const int own = holds ? 1 : 0;
    int least = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&own, &least, 1, MPI_INT, MPI_MIN, comm, &request);
    parallel::blocking_wait(request);
    return least == 1;
}

/// Windows of this rank. They are never freed; see Windows.
struct WindowRegistry {
    using Ranks = std::vector<std::int32_t>;
    /// Windows of two groups of processes, and their last creation: one runs after the other.
    struct Pair {
        std::shared_ptr<Windows> windows;
        PendingWindows last;
    };
    std::mutex mutex;
    std::map<std::pair<Ranks, Ranks>, Pair> pairs;
};

} // namespace

Windows::Windows(const PeerRanks& peers) : ranks_(peers.writer_ranks()), writers_(peers.writers()) {
    ranks_.insert(ranks_.end(), peers.reader_ranks().begin(), peers.reader_ranks().end());
}

bool Windows::make(MpiMode mode, const std::function<bool(MPI_Win)>& expose) {
    if (comm_ == MPI_COMM_NULL) {
        MPI_Group world = MPI_GROUP_NULL;
        MPI_Group members = MPI_GROUP_NULL;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, static_cast<int>(ranks_.size()), ranks_.data(), &members);
        MPI_Comm_create_group(MPI_COMM_WORLD, members, tag_of(ranks_), &comm_);
        MPI_Group_free(&members);
        MPI_Group_free(&world);
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
    }
    if (mode == MpiMode::pull && get_window_ == MPI_WIN_NULL) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, comm_, &get_window_);
        MPI_Win_set_errhandler(get_window_, MPI_ERRORS_RETURN);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, get_window_); // no rank ever locks it exclusively
    }
    if (mode == MpiMode::push && put_window_ == MPI_WIN_NULL) {
        int rank = 0;
        MPI_Comm_rank(comm_, &rank);
        MPI_Win_allocate(rank < writers_ ? 0 : static_cast<MPI_Aint>(put_buffer_bytes), 1,
                         MPI_INFO_NULL, comm_, &put_buffer_, &put_window_);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, put_window_);
    }
    return all(comm_, mode != MpiMode::pull || !expose || expose(get_window_));
}

PendingWindows make_windows(const PeerRanks& peers, MpiMode mode,
                            std::function<bool(MPI_Win)> expose) {
    auto& registry = job_state<WindowRegistry>();
    std::packaged_task<std::shared_ptr<const Windows>()> task;
    PendingWindows result;
    {
        const std::lock_guard lock(registry.mutex);
        WindowRegistry::Pair& pair = registry.pairs[{peers.writer_ranks(), peers.reader_ranks()}];
        if (!pair.windows)
            pair.windows = std::make_shared<Windows>(peers);
        task = std::packaged_task<std::shared_ptr<const Windows>()>(
            [windows = pair.windows, before = pair.last, mode, expose = std::move(expose)] {
                if (before.valid())
                    before.wait();
                return windows->make(mode, expose) ? windows : nullptr;
            });
        result = pair.last = task.get_future().share();
    }
    int level = 0;
    MPI_Query_thread(&level);
    if (level == MPI_THREAD_MULTIPLE)
        std::thread(std::move(task)).detach(); // may block for ever: it owns all that it uses
    else
        task();
    return result;
}

std::string text_of(int error) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(error, text.data(), &length);
    return {text.data(), static_cast<std::size_t>(length)};
}

} // namespace uzushio::staging::mpi
