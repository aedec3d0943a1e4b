#include "staging/transport/mpi/connect.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "parallel/backoff.hpp"
#include "parallel/wait_hook.hpp"
#include "staging/notice.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/to_seconds.hpp"
#include "staging/transport/mpi/job.hpp"
#include "staging/transport/mpi/job_state.hpp"
#include "staging/transport/mpi/message_dispatcher.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::mpi {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Ranks at which streams were found before: a further reader sends its requests to them first.
class StreamDirectory {
  public:
    void record(const std::string& stream, std::int32_t rank) {
        const std::lock_guard lock(mutex_);
        known_[stream] = rank;
    }
    [[nodiscard]] std::vector<std::int32_t> look_up(const std::string& stream) {
        const std::lock_guard lock(mutex_);
        const auto entry = known_.find(stream);
        return entry == known_.end() ? std::vector<std::int32_t>{}
                                     : std::vector<std::int32_t>{entry->second};
    }

  private:
    std::mutex mutex_;
    std::map<std::string, std::int32_t> known_;
};

struct AttemptCounter {
    std::atomic<std::uint32_t> next = 0;
};

std::uint64_t new_attempt() {
    const auto rank = static_cast<std::uint64_t>(job_state<MessageDispatcher>().rank());
    return rank << 32 | job_state<AttemptCounter>().next++;
}

/// Repeated connect requests to the processes that may write a stream, at growing intervals.
class ConnectRequests {
  public:
    ConnectRequests(ConnectMessage request, const std::vector<std::int32_t>& readers)
        : request_(std::move(request)),
          targets_(job_state<StreamDirectory>().look_up(request_.stream)) {
        for (std::int32_t rank = 0; rank < job_state<MessageDispatcher>().size(); ++rank)
            if (std::find(readers.begin(), readers.end(), rank) == readers.end())
                all_ranks_.push_back(rank);
    }

    void send_if_due() {
        if (Clock::now() < due_)
            return;
        due_ = Clock::now() + pause_;
        if (targets_.empty()) {
            targets_ = all_ranks_;
            pause_ *= 2;
        }
        for (const auto rank : std::exchange(targets_, {}))
            job_state<MessageDispatcher>().send(rank, request_);
    }

    [[nodiscard]] bool no_targets() const { return all_ranks_.empty(); }

  private:
    ConnectMessage request_;
    std::vector<std::int32_t> targets_; ///< for the next time; none: all
    std::vector<std::int32_t> all_ranks_;
    Clock::time_point due_ = Clock::now();
    Clock::duration pause_ = 500ms;
};

/// Withdraw an acceptance.
void send_detach(std::optional<std::int32_t> writer, ConnectMessage accept) {
    accept.kind = ConnectMessage::Kind::detach;
    if (writer)
        job_state<MessageDispatcher>().send(*writer, std::move(accept));
}

/// On rank 0: connect to the writer, and return its confirmation.
ConnectMessage find_writer(const std::string& stream, const std::vector<std::int32_t>& readers,
                           const ReaderOptions& options) {
    auto& dispatcher = job_state<MessageDispatcher>();
    ConnectMessage request;
    request.attempt = new_attempt();
    request.stream = stream;
    ConnectMessage accept = request;
    accept.kind = ConnectMessage::Kind::accept;
    accept.ranks = readers;

    ConnectRequests requests(std::move(request), readers);
    require(!requests.no_targets(), "No process of this MPI job is left to write '", stream,
            "': start writers and readers in one launch, mpiexec -n 4 SOLVER : -n 2 "
            "VIEWER, and give each side a communicator of its own processes.");
    const auto deadline = Clock::now() + options.attach_limit;
    std::optional<std::int32_t> writer; // writer that was sent an acceptance
    try {
        parallel::WaitHookTimer interrupts;
        WaitNotice waiting;
        for (parallel::Backoff backoff; Clock::now() < deadline; backoff.pause()) {
            interrupts.poll();
            if (waiting.due())
                notice("No process of this MPI job writes a stream '" + stream +
                       "' yet. Waiting for the writer for up to " +
                       to_seconds(options.attach_limit) + ".");
            requests.send_if_due();
            const auto message = dispatcher.take([&](const ConnectMessage& candidate) {
                return candidate.attempt == accept.attempt &&
                       (candidate.kind == ConnectMessage::Kind::offer ||
                        candidate.kind == ConnectMessage::Kind::confirm ||
                        candidate.kind == ConnectMessage::Kind::refuse);
            });
            if (!message)
                continue;
            require(message->kind != ConnectMessage::Kind::refuse, message->text);
            if (message->kind == ConnectMessage::Kind::confirm) {
                job_state<StreamDirectory>().record(stream, message->from);
                return *message;
            }
            writer = message->from;
            dispatcher.send(*writer, accept);
            backoff = {};
        }
    } catch (...) {
        send_detach(writer, accept);
        throw;
    }
    send_detach(writer, accept);
    throw PeerGone("No process of this MPI job writes a stream '" + stream +
                   "' with the engine mpi: check its name, that the solver is in the same mpiexec "
                   "launch, and that it opens the stream in time (attach_limit).");
}

} // namespace

Handshake connect(const std::string& stream, const parallel::CollectiveGroup& group,
                  const ReaderOptions& options) {
    Handshake handshake;
    std::vector<std::byte> bytes;
    group.run_collectively([&] {
        require_mpi("A reader of 'mpi:" + stream + "'", false);
        handshake.readers = world_ranks(group.comm());
        if (group.rank() == 0)
            bytes = encode(find_writer(stream, handshake.readers, options));
    });
    const ConnectMessage confirmation =
        decode_as<ConnectMessage>(group.broadcast(std::move(bytes)));
    handshake.channel = confirmation.channel;
    handshake.mode = confirmation.mode;
    handshake.writers = confirmation.ranks;
    return handshake;
}

} // namespace uzushio::staging::mpi
