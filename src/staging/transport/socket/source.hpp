#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "parallel/collective_group.hpp"
#include "staging/reader_options.hpp"
#include "staging/transport/socket/secret.hpp"
#include "staging/transport/source.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::socket {

/// Looks at the memory of writers on the same node (engine shm).
class SegmentMapper {
  public:
    virtual ~SegmentMapper() = default;
    /// Endpoint::node of the writers whose memory this process can look at; never empty.
    [[nodiscard]] virtual const std::string& node() const = 0;
    /// The memory of a segment, valid until `end`; nothing if it cannot be had: its values are then
    /// asked for over the connection. Called for places that are not zero.
    [[nodiscard]] virtual std::span<const std::byte> map(const SegmentPlace& place) = 0;
    /// The step that these were of is done with: mappings may be kept for the next ones, or let go.
    virtual void end() {}
};

/// Whether a contact is "host:port" ("[::1]:port" for IPv6), and no file of that name is there.
[[nodiscard]] bool is_address(std::string_view contact);

/// Reads a stream over TCP, and through shared memory what a mapper can reach. No thread: what
/// arrives between calls waits in the socket.
class SocketSource : public Source {
  public:
    /// Attach to the writer (or relay) that a contact file or "host:port" leads to. Waits for the
    /// file to appear and for the writer to answer. Collective over the group, which is not needed
    /// afterwards. Throws StagingError on all its ranks if there is nobody within
    /// `options.attach_limit`, or if it is not the right one.
    SocketSource(const std::string& contact, const parallel::CollectiveGroup& group,
                 const ReaderOptions& options, std::unique_ptr<SegmentMapper> mapper = nullptr);
    ~SocketSource() override;

    [[nodiscard]] Announced next(std::chrono::nanoseconds limit) override;
    /// `limit` is for what is asked for to arrive at all, not for all of it: as long as bytes come,
    /// it waits on.
    void fetch(const Announce& step, std::span<const Fetch> wanted,
               std::chrono::nanoseconds limit) override;
    [[nodiscard]] std::span<const std::byte> segment(const Announce& step,
                                                     std::uint32_t rank) override;
    void end(const Announce& step) override;
    void release(std::uint64_t sequence) override;

    /// Of the writer, as it told.
    [[nodiscard]] const std::string& stream() const;

  private:
    class Core;
    std::unique_ptr<Core> core_;
};

} // namespace uzushio::staging::socket
