#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/relay/buffer_budget.hpp"
#include "staging/relay/stop_notice.hpp"
#include "staging/relay/upstream.hpp"
#include "staging/transport/socket/connection.hpp"
#include "staging/transport/socket/contact.hpp"
#include "staging/transport/socket/listener.hpp"
#include "staging/transport/socket/secret.hpp"
#include "staging/transport/socket/writer_connection.hpp"
#include "staging/wire/messages.hpp"

/// Forwarding of a stream between two networks: the writer in one, readers in the other.
namespace uzushio::staging::relay {

struct RelayOptions {
    std::string from;          ///< contact file of the writer (or of a relay), or its "host:port"
    std::filesystem::path to;  ///< contact file to write, for readers (or relays)
    std::string secret;        ///< of `from` as host:port, in hexadecimal
    bool tls = false;          ///< of `from` as host:port
    EngineOptions::Tcp listen; ///< address for readers
    /// Maximum bytes held, independent of the size of steps: see BufferBudget.
    std::size_t bytes = std::size_t{64} << 20;
    bool once = false; ///< end with the writer instead of waiting for the next one
    std::chrono::nanoseconds wait = std::chrono::seconds(60); ///< for the writer, with `once`
};

/// Current state of a relay.
struct RelayStatus {
    std::string stream;          ///< of the last writer; empty: none has been found yet
    std::size_t readers = 0;     ///< with a control connection; counted on rank 0
    std::size_t connections = 0; ///< all connections, including those
    std::uint64_t passed = 0;    ///< bytes sent to readers since the start
    std::size_t held = 0;        ///< bytes held now
    std::size_t max_held = 0;    ///< maximum of `held` so far
};

/// Relay of a stream from the network of its writer to that of its readers, **cut-through**: every
/// connection of a reader is spliced to one of the relay's own to the writer, and bytes are
/// forwarded as they arrive. Both sides are authenticated, each with the secret of its own contact
/// file. Only the message with the endpoints of the writer's ranks is replaced, by endpoints of the
/// relay.
///
/// Either side may start and end at any time. Readers wait while there is no writer. When a writer
/// ends, its readers receive the end of the stream, and the next writer of the contact is found.
/// When a writer dies, its readers' connections are closed; when a reader dies, its connections to
/// the writer are closed at once. Relays may be chained.
///
/// A relay of several ranks is one MPI job, whose ranks must all see the contact file `from`. Rank
/// 0 accepts the control connections; the connections to rank w of the writer pass through rank w
/// modulo the number of ranks. MPI is used only at the start and at the end.
class Relay {
  public:
    /// Listen, and write the contact file; collective. `group` outlives the relay.
    Relay(RelayOptions options, const parallel::CollectiveGroup& group);
    ~Relay(); ///< closes all connections, and removes the contact file

    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    /// Serve in this thread until `keep_running`, called about ten times a second, returns false;
    /// or, if so configured, until the writer has ended. Rank 0 then throws PeerGone if no writer
    /// was found in time. Exceptions of `keep_running` are passed on. Collective, although every
    /// rank calls its own function; all ranks end with rank 0. Rank 0 prints a notice while it
    /// waits for the writer.
    void run(const std::function<bool()>& keep_running);

    /// For `keep_running`, and after `run` has returned.
    [[nodiscard]] const RelayStatus& status() const { return status_; }

  private:
    using Peer = std::shared_ptr<socket::Connection>;

    [[nodiscard]] Hello hello() const;
    [[nodiscard]] asio::awaitable<void> serve(Peer peer, Hello theirs);
    [[nodiscard]] asio::awaitable<void> serve_control(Peer peer, Hello theirs);
    [[nodiscard]] asio::awaitable<void> send_error(Peer peer, Error error);
    [[nodiscard]] Endpoints endpoints_for(const socket::WriterConnection& writer) const;
    [[nodiscard]] asio::awaitable<void> watch_writer();
    void notify_waiting();
    void serve_for(std::chrono::nanoseconds time);
    void publish_contact();

    RelayOptions options_;
    const parallel::CollectiveGroup& group_;
    socket::Secret secret_;
    RelayStatus status_;
    bool writer_ended_ = false;
    bool writer_seen_ = false;
    bool refused_ = false;            ///< the last connection to the contact was refused
    std::string obstacle_, notified_; ///< why there is no writer yet
    socket::Deadline notice_time_{};
    std::vector<std::string> addresses_; ///< of the relay's ranks, on rank 0
    asio::io_context io_{1};             ///< outlives all connections
    BufferBudget budget_;
    std::optional<Upstream> upstream_;
    std::optional<socket::Listener> listener_;
    std::optional<socket::PublishedContact> contact_;
    std::optional<StopNotice> stop_notice_;
};

} // namespace uzushio::staging::relay
