#include "staging/transport/mpi/introduction.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "parallel/backoff.hpp"
#include "parallel/wait_hook.hpp"
#include "staging/in_seconds.hpp"
#include "staging/notice.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/mpi/job.hpp"
#include "staging/transport/mpi/letter.hpp"
#include "staging/transport/mpi/post_office.hpp"

namespace uzushio::staging::mpi {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Where streams were found before: a reader that comes again need not knock everywhere.
class Directory {
  public:
    [[nodiscard]] static Directory& of_process() {
        static Directory directory; // of MPI_COMM_WORLD's ranks, and as global
        return directory;
    }
    void note(const std::string& stream, std::int32_t rank) {
        const std::lock_guard lock(mutex_);
        known_[stream] = rank;
    }
    [[nodiscard]] std::vector<std::int32_t> look_up(const std::string& stream) {
        const std::lock_guard lock(mutex_);
        const auto found = known_.find(stream);
        return found == known_.end() ? std::vector<std::int32_t>{}
                                     : std::vector<std::int32_t>{found->second};
    }

  private:
    std::mutex mutex_;
    std::map<std::string, std::int32_t> known_;
};

std::uint64_t new_attempt() {
    static std::atomic<std::uint32_t> next = 0;
    const auto rank = static_cast<std::uint64_t>(PostOffice::of_process().rank());
    return rank << 32 | next++;
}

/// Knocks at the doors that may lead to a stream: less and less often.
class Knocks {
  public:
    Knocks(Letter knock, const std::vector<std::int32_t>& readers)
        : knock_(std::move(knock)), doors_(Directory::of_process().look_up(knock_.stream)) {
        for (std::int32_t rank = 0; rank < PostOffice::of_process().size(); ++rank)
            if (std::find(readers.begin(), readers.end(), rank) == readers.end())
                all_.push_back(rank);
    }

    void knock_if_due() {
        if (Clock::now() < due_)
            return;
        due_ = Clock::now() + pause_;
        if (doors_.empty()) {
            doors_ = all_;
            pause_ *= 2;
        }
        for (const auto rank : std::exchange(doors_, {}))
            PostOffice::of_process().send(rank, knock_);
    }

    [[nodiscard]] bool nobody_there() const { return all_.empty(); }

  private:
    Letter knock_;
    std::vector<std::int32_t> doors_; ///< for the next time; none: all
    std::vector<std::int32_t> all_;
    Clock::time_point due_ = Clock::now();
    Clock::duration pause_ = 500ms;
};

/// Take an acceptance back.
void leave(std::optional<std::int32_t> host, Letter accept) {
    accept.kind = Letter::Kind::leave;
    if (host)
        PostOffice::of_process().send(*host, std::move(accept));
}

/// On rank 0: the writer's letter that links us.
Letter seek(const std::string& stream, const std::vector<std::int32_t>& readers,
            const ReaderOptions& options) {
    auto& post = PostOffice::of_process();
    Letter knock;
    knock.attempt = new_attempt();
    knock.stream = stream;
    Letter accept = knock;
    accept.kind = Letter::Kind::accept;
    accept.ranks = readers;

    Knocks knocks(std::move(knock), readers);
    if (knocks.nobody_there())
        throw StagingError("No process of this MPI job is left to write '" + stream +
                           "': start writers and readers in one launch, mpiexec -n 4 SOLVER : -n 2 "
                           "VIEWER, and give each side a communicator of its own processes.");
    const auto deadline = Clock::now() + options.attach_limit;
    std::optional<std::int32_t> host; // has our word
    try {
        parallel::WaitHookTimer interrupts;
        WaitNotice waiting;
        for (parallel::Backoff backoff; Clock::now() < deadline; backoff.pause()) {
            interrupts.poll();
            if (waiting.due())
                notice("Nobody in this MPI job writes a stream '" + stream +
                       "' yet. Waiting for the writer for up to " +
                       in_seconds(options.attach_limit) + ".");
            knocks.knock_if_due();
            const auto letter = post.take([&](const Letter& one) {
                return one.attempt == accept.attempt &&
                       (one.kind == Letter::Kind::offer || one.kind == Letter::Kind::link ||
                        one.kind == Letter::Kind::refuse);
            });
            if (!letter)
                continue;
            if (letter->kind == Letter::Kind::refuse)
                throw StagingError(letter->text);
            if (letter->kind == Letter::Kind::link) {
                Directory::of_process().note(stream, letter->from);
                return *letter;
            }
            host = letter->from;
            post.send(*host, accept);
            backoff = {};
        }
    } catch (...) {
        leave(host, accept);
        throw;
    }
    leave(host, accept);
    throw PeerGone("Nobody in this MPI job writes a stream '" + stream +
                   "' with the engine mpi: check its name, that the solver is in the same mpiexec "
                   "launch, and that it opens the stream in time (attach_limit).");
}

} // namespace

Introduction introduce(const std::string& stream, const parallel::CollectiveGroup& group,
                       const ReaderOptions& options) {
    Introduction found;
    std::vector<std::byte> bytes;
    group.run_collectively([&] {
        require_mpi("A reader of 'mpi:" + stream + "'", false);
        found.readers = world_ranks(group.comm());
        if (group.rank() == 0)
            bytes = encode(seek(stream, found.readers, options));
    });
    const Letter link = decode_letter(group.broadcast(std::move(bytes)));
    found.channel = link.channel;
    found.mode = link.mode;
    found.writers = link.ranks;
    return found;
}

} // namespace uzushio::staging::mpi
