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
#include "staging/transport/mpi/exposed_segments.hpp"
#include "staging/transport/mpi/message_dispatcher.hpp"
#include "staging/transport/mpi/peer_ranks.hpp"
#include "staging/transport/mpi/pending_sends.hpp"
#include "staging/transport/mpi/tile_buffers.hpp"
#include "staging/transport/mpi/tile_sender.hpp"
#include "staging/transport/mpi/windows.hpp"
#include "staging/transport/service.hpp"

namespace uzushio::staging::mpi {

/// Service for readers of a stream in the same MPI job. On rank 0 it handles their connect
/// requests, attaches them and announces steps; on all ranks it sends the requested pieces. Readers
/// in mode `pull` request none.
///
/// The thread polls for messages, and sleeps in between: 20 us at first, up to 0.2 ms with readers
/// and 2 ms without, and after 0.1 s of silence a twentieth of it, up to 10 ms. An idle reader thus
/// costs the solver a fraction of a percent of a core instead of four; the next request is answered
/// up to 10 ms late. (A published step wakes rank 0's thread at once, and shortens its pauses for
/// the next 0.1 s.) It needs MPI_THREAD_MULTIPLE (require_mpi).
///
/// While a reader gets, it polls every few microseconds: without RDMA hardware, MPI serves gets
/// only in calls of the target process (Open MPI within a node: 0.16 GB/s with 5 ms between calls,
/// 11 with 5 us).
///
/// The thread never blocks: windows are made in another thread (make_windows).
class MpiService : public Service {
  public:
    /// `comm`: of the writer's ranks, owned. `queue`: on rank 0. `exposure`: the segments of
    /// `steps`. Steps and queue outlive the service.
    MpiService(std::string stream, parallel::Communicator comm, MpiMode mode,
               const HeldSteps& steps, Queue* queue, std::shared_ptr<ExposedSegments> exposure);
    MpiService(const MpiService&) = delete;
    MpiService& operator=(const MpiService&) = delete;
    ~MpiService() override;

    [[nodiscard]] Endpoint endpoint() const override;
    void open(const Endpoints& all) override;
    void close(std::chrono::nanoseconds limit) override;

  private:
    using Clock = std::chrono::steady_clock;

    /// Attachment of one reader.
    struct Attachment {
        std::uint32_t number = 0;
        std::uint64_t attempt = 0; ///< number of the connect attempt
        PeerRanks peers;
        PendingWindows windows;
        std::optional<ReaderSession> session;               ///< on rank 0
        std::map<int, std::unique_ptr<TileSender>> senders; ///< by the reader's rank
        std::map<int, Clock::time_point>
            get_deadlines;      ///< by the reader's rank: expected end of its gets
        int detached_ranks = 0; ///< ranks of the reader that have detached
        bool detached = false;
    };

    [[nodiscard]] bool is_root() const { return comm_.rank() == 0; }
    void stop(bool immediately, std::chrono::nanoseconds limit);
    void wake();

    // In the thread; functions that return bool return whether anything moved.
    void run();
    [[nodiscard]] bool poll();
    [[nodiscard]] bool accept_reader();
    void accept(const ConnectMessage& message);
    [[nodiscard]] bool handle_command();
    void send_command(const ConnectMessage& message);
    void attach(const ConnectMessage& message, std::optional<ReaderSession> session);
    [[nodiscard]] bool serve_control(Attachment& attachment);
    [[nodiscard]] bool serve_data(Attachment& attachment);
    [[nodiscard]] TileSender& sender(Attachment& attachment, int reader);
    void send_control(const Attachment& attachment, Bytes bytes);
    void send_end_of_stream();
    void retain_values_being_read();
    [[nodiscard]] bool all_sent();
    [[nodiscard]] std::chrono::nanoseconds max_pause(std::chrono::nanoseconds silent) const;

    std::string stream_;
    MpiMode mode_;
    const HeldSteps& steps_;
    Queue* queue_;
    std::shared_ptr<ExposedSegments> segments_;
    parallel::Communicator comm_; ///< of the writer's ranks
    std::vector<std::int32_t> ranks_;
    MessageDispatcher& dispatcher_;
    struct WindowCreation;
    WindowCreation& creation_;

    // Of the thread.
    std::set<std::uint64_t> offered_attempts_; ///< attempts with an offer and no acceptance yet
    std::set<std::uint64_t>
        confirmed_attempts_; ///< attempts with a channel: their messages may arrive late
    TileBuffers buffers_;
    PendingSends sends_;
    std::vector<Attachment> attachments_;

    std::mutex mutex_;
    std::condition_variable wake_event_;
    bool woken_ = false;
    bool immediately_ = false;
    std::atomic<bool> open_ = false;
    std::atomic<bool> stopping_ = false;
    Clock::time_point deadline_;
    std::thread thread_;
};

} // namespace uzushio::staging::mpi
