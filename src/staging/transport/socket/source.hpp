#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/reader_options.hpp"
#include "staging/transport/shm/mapped_segments.hpp"
#include "staging/transport/shm/node_name.hpp"
#include "staging/transport/socket/connection.hpp"
#include "staging/transport/socket/data_channel.hpp"
#include "staging/transport/socket/secret.hpp"
#include "staging/transport/socket/tls.hpp"
#include "staging/transport/step_source.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/messages.hpp"
#include "staging/wire/parts.hpp"

namespace uzushio::staging::socket {

/// Source of a stream over TCP, and over shared memory if the writer's rank is on the same node. It
/// has no thread: messages received between calls wait in the socket.
class SocketSource final : public StepSource {
  public:
    /// Attach to the writer (or relay) of a contact file or "host:port". Waits for the file to
    /// appear and for the writer to answer. Collective over the group, which is not needed
    /// afterwards. Throws StagingError on all ranks if no writer answers within
    /// `options.attach_limit`, or if it is not the right one. Maps memory of ranks whose
    /// Endpoint::node is `node`; empty: of none.
    SocketSource(const std::string& contact, const parallel::CollectiveGroup& group,
                 const ReaderOptions& options, const std::string& node = shm::node_name());
    SocketSource(const SocketSource&) = delete;
    SocketSource& operator=(const SocketSource&) = delete;
    ~SocketSource() override;

    [[nodiscard]] AnnouncedStep next(std::chrono::nanoseconds limit) override;
    /// `limit` is the maximum time without progress, not the total time.
    void fetch(const Announce& step, std::span<const Fetch> wanted,
               std::chrono::nanoseconds limit) override;
    [[nodiscard]] std::span<const std::byte> segment(const Announce& step,
                                                     std::uint32_t rank) override;
    void end(const Announce& step) override;
    void release(std::uint64_t sequence) override;
    void send(const Command& command) override;
    [[nodiscard]] std::vector<Reply> take_replies() override { return std::exchange(replies_, {}); }

    /// Name of the stream at the writer.
    [[nodiscard]] const std::string& stream() const { return writer_.stream; }

  private:
    /// Properties of the writer that all ranks of a reader need.
    struct WriterInfo {
        std::string stream;
        Secret secret{};
        bool tls = false;
        Endpoints endpoints;

        template <class Wire> friend void parts(Wire& wire, Is<WriterInfo> auto& info) {
            wire.text(info.stream, "name");
            wire.raw(info.secret);
            wire.flag(info.tls, "kind of connection");
            parts(wire, info.endpoints);
        }
    };

    /// Pieces that one `fetch` requests from one rank.
    struct FetchBatch {
        PieceFetches pieces;
        std::int64_t bytes = 0;
    };

    void attach_to_writer(const std::string& contact);
    [[nodiscard]] Hello hello() const;
    [[nodiscard]] asio::awaitable<ReceivedMessage> ask_for_step();
    [[nodiscard]] asio::awaitable<void> send_control(std::vector<std::byte> bytes);
    [[nodiscard]] std::map<std::uint32_t, FetchBatch> batches(std::span<const Fetch> wanted) const;
    [[nodiscard]] std::vector<std::unique_ptr<DataChannel>>& channels_to(std::uint32_t rank,
                                                                         std::int64_t bytes);
    /// Return whether the control connection has ended, or ends within the grace period. A step of
    /// a relay whose rank 0 was killed is withdrawn, and other ranks may report that first.
    [[nodiscard]] bool has_lost_writer();
    [[nodiscard]] std::string lost_writer_message() const;
    [[noreturn]] void explain(std::uint32_t rank, std::exception_ptr fault,
                              std::chrono::nanoseconds limit);

    ReaderOptions options_;
    std::uint32_t rank_;
    std::uint32_t ranks_;
    WriterInfo writer_;
    std::shared_ptr<TlsContext> tls_;
    shm::MappedSegments segments_;
    std::vector<bool> local_; ///< by the writer's rank: whether its memory is on this node
    bool asked_ = false;      ///< Next was sent and not answered yet
    bool ended_ = false;
    bool sending_ = false; ///< a message on `control_`
    std::optional<ReceivedMessage> answer_;
    std::vector<Reply> replies_;
    std::exception_ptr fault_;
    asio::io_context io_{1};
    std::shared_ptr<Connection> control_; ///< of rank 0
    std::map<std::uint32_t, std::vector<std::unique_ptr<DataChannel>>> channels_;
};

} // namespace uzushio::staging::socket
