#pragma once

#include <asio/awaitable.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "staging/engine_options.hpp"
#include "staging/queue/held_steps.hpp"
#include "staging/queue/queue.hpp"
#include "staging/queue/reader_session.hpp"
#include "staging/transport/service.hpp"
#include "staging/transport/socket/connection.hpp"
#include "staging/transport/socket/listener.hpp"
#include "staging/transport/socket/piece_sender.hpp"
#include "staging/transport/socket/secret.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::socket {

/// Service for one rank's steps over TCP, with one background thread that sleeps in epoll. Clients
/// that do not authenticate within seconds or violate the protocol are disconnected; no client
/// delays another reader or the solver.
class SocketService final : public Service {
  public:
    /// Rank and writer of the service.
    struct WriterRank {
        std::string stream; ///< at most 200 bytes
        std::uint32_t rank = 0;
        std::uint32_t ranks = 1;
        std::string node; ///< for Endpoint::node; empty: memory is not shared
    };

    /// Listens at once; rank 0 accepts readers from `open` on. `held` and `queue` (of rank 0, else
    /// null) must outlive the service. Throws StagingError if the address or port is not available.
    SocketService(WriterRank rank, const Secret& secret, const EngineOptions::Tcp& options,
                  const HeldSteps& held, Queue* queue);
    SocketService(const SocketService&) = delete;
    SocketService& operator=(const SocketService&) = delete;
    ~SocketService() override;

    [[nodiscard]] Endpoint endpoint() const override;
    void open(const Endpoints& all) override;
    void close(std::chrono::nanoseconds limit) override;

  private:
    using Peer = std::shared_ptr<Connection>;
    using SharedBytes = std::shared_ptr<const std::vector<std::byte>>;

    /// A reader's control connection. The queue may notify its session while the connection is
    /// being read.
    struct ControlConnection {
        ControlConnection(std::shared_ptr<Connection> connection_, Queue& queue)
            : connection(std::move(connection_)), session(std::in_place, queue) {}
        std::shared_ptr<Connection> connection;
        std::optional<ReaderSession> session; ///< until the connection has ended
        bool writing = false;
    };

    void stop();

    // On the service's thread.
    void run();
    [[nodiscard]] Hello hello() const;
    [[nodiscard]] std::optional<Error> check_admission(const Hello& theirs) const;
    [[nodiscard]] asio::awaitable<void> serve(Peer peer, Hello theirs);
    [[nodiscard]] asio::awaitable<void> serve_data(Peer peer);
    [[nodiscard]] asio::awaitable<void> serve_control(Peer peer);
    [[nodiscard]] asio::awaitable<void> answer(Peer peer, PieceSender& sender,
                                               PieceRequest request);
    [[nodiscard]] asio::awaitable<Error>
    receive_requests(std::shared_ptr<ControlConnection> control);
    [[nodiscard]] asio::awaitable<void> send_to_reader(std::shared_ptr<ControlConnection> control,
                                                       SharedBytes bytes);
    [[nodiscard]] asio::awaitable<void> drain(Peer peer);
    void send_next(const std::shared_ptr<ControlConnection>& control);
    void on_queue_event();

    WriterRank rank_;
    const HeldSteps& held_;
    Queue* queue_;
    Endpoints all_;
    bool closing_ = false;
    std::promise<void> all_detached_;
    std::atomic<bool> event_posted_{false};
    asio::io_context io_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
    std::set<std::shared_ptr<ControlConnection>> controls_;
    Listener listener_;
    std::thread thread_;
};

} // namespace uzushio::staging::socket
