#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "parallel/communicator.hpp"
#include "staging/engine_options.hpp"
#include "staging/queue/held_steps.hpp"
#include "staging/queue/queue.hpp"
#include "staging/queue/reader_session.hpp"
#include "staging/transport/mpi/buffers.hpp"
#include "staging/transport/mpi/exposure.hpp"
#include "staging/transport/mpi/letter.hpp"
#include "staging/transport/mpi/link.hpp"
#include "staging/transport/mpi/outgoing.hpp"
#include "staging/transport/mpi/piece_sender.hpp"
#include "staging/transport/mpi/windows.hpp"
#include "staging/transport/service.hpp"

namespace uzushio::staging::mpi {

/// Serves the readers of a stream that are in the same MPI job: on rank 0 it listens for their
/// knocks, makes links with them and announces steps; on all ranks it brings the pieces that
/// readers ask for. Readers that `pull` ask for none.
///
/// The thread looks for messages, and sleeps between looks: 20 us at first, 0.2 ms when nothing
/// comes, 2 ms when nobody is attached, and 5 ms once nothing has come for 0.1 s. So an idle reader
/// costs the solver a fraction of a percent of a core instead of four; the price is that the first
/// request after such a silence is answered up to 5 ms late. (A step that is published wakes rank
/// 0's thread at once, and keeps it watchful for the next 0.1 s.) It needs MPI_THREAD_MULTIPLE
/// (require_mpi).
///
/// While a reader gets it looks every few microseconds: where no hardware reads a window, MPI
/// serves gets only when the process that is read calls it (Open MPI within a node: 0.16 GB/s with
/// 5 ms between calls, 11 with 5 us).
///
/// The thread waits for nobody: what push and pull need is made beside it (make_windows).
class MpiService : public Service {
  public:
    /// `comm`: of the writer's ranks, for this alone. `queue`: on rank 0. `exposure`: the segments
    /// of `steps`. Steps and queue outlive it.
    MpiService(std::string stream, parallel::Communicator comm, MpiMode mode,
               const HeldSteps& steps, Queue* queue, std::shared_ptr<Exposure> exposure);
    MpiService(const MpiService&) = delete;
    MpiService& operator=(const MpiService&) = delete;
    ~MpiService() override;

    [[nodiscard]] Endpoint endpoint() const override;
    void open(const Endpoints& all) override;
    void close(std::chrono::nanoseconds limit) override;

  private:
    using Clock = std::chrono::steady_clock;

    /// One attachment of a reader.
    struct Channel {
        std::uint32_t number = 0;
        std::uint64_t attempt = 0; ///< that led to it
        Link link;
        WindowsToCome windows;
        std::optional<ReaderSession> session;                ///< on rank 0
        std::map<int, std::unique_ptr<PieceSender>> senders; ///< by the reader's rank
        std::map<int, Clock::time_point> getting; ///< by the reader's rank: likely until when
        int gone = 0;                             ///< ranks of the reader that have detached
        bool left = false;
    };

    [[nodiscard]] bool leads() const { return comm_.rank() == 0; }
    void stop(bool at_once, std::chrono::nanoseconds limit);
    void wake();

    // In the thread; those that return bool tell whether anything moved.
    void run();
    [[nodiscard]] bool look();
    [[nodiscard]] bool welcome();
    void accept(const Letter& letter);
    [[nodiscard]] bool obey();
    void order(const Letter& letter);
    void join(const Letter& letter);
    [[nodiscard]] bool talk(Channel& channel);
    [[nodiscard]] bool serve(Channel& channel);
    [[nodiscard]] PieceSender& sender(Channel& channel, int reader);
    void say(const Channel& channel, Bytes bytes);
    void say_last_words();
    void keep_what_is_got();
    [[nodiscard]] bool quiet();
    [[nodiscard]] std::chrono::nanoseconds longest_pause(std::chrono::nanoseconds silent) const;

    std::string stream_;
    MpiMode mode_;
    const HeldSteps& steps_;
    Queue* queue_;
    std::shared_ptr<Exposure> exposure_;
    parallel::Communicator comm_; ///< among the writer's ranks
    std::vector<std::int32_t> ranks_;

    // The thread's own.
    std::set<std::uint64_t> offered_; ///< attempts that we wait for
    std::set<std::uint64_t> linked_;  ///< attempts that led to a channel: letters may come late
    Buffers buffers_;
    Outgoing outgoing_;
    std::vector<Channel> channels_;

    std::mutex mutex_;
    std::condition_variable news_;
    bool woken_ = false;
    bool at_once_ = false;
    std::atomic<bool> open_ = false;
    std::atomic<bool> stopping_ = false;
    Clock::time_point deadline_;
    std::thread thread_;
};

} // namespace uzushio::staging::mpi
