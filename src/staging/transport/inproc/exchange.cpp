#include "staging/transport/inproc/exchange.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <type_traits>

#include "parallel/backoff.hpp"
#include "staging/datamodel/copy.hpp"
#include "staging/datamodel/tile_cutter.hpp"

namespace uzushio::staging::inproc {
namespace {

constexpr int tag = parallel::CollectiveGroup::first_free_tag;

/// Return the maximum bytes of one message: large enough for speed, and small enough to limit the
/// memory of a rank that communicates with all others. The same on all ranks.
std::int64_t message_bytes(int ranks) {
    return std::clamp<std::int64_t>((std::int64_t{64} << 20) / ranks, std::int64_t{1} << 20,
                                    std::int64_t{8} << 20);
}

template <class Byte> struct PieceView {
    BasicArrayView<Byte> view;
    ComponentOrder order;
};

/// All messages between this rank and one peer, in one direction: pieces, cut into messages of
/// at most so many bytes. Both sides cut them alike. Two messages are in flight at a time.
template <class Byte> class PeerTransfer {
  public:
    static constexpr bool sends = std::is_const_v<Byte>;

    PeerTransfer(int peer, std::int64_t max_bytes) : peer_(peer), max_bytes_(max_bytes) {}

    void add(const PieceView<Byte>& item) { items_.push_back(item); }
    [[nodiscard]] bool empty() const { return items_.empty(); }

    /// Allocate all buffers of the transfer.
    void prepare(BufferPool& pool) {
        PeerTransfer dry_run = *this;
        std::size_t messages = 0; // with a buffer
        std::int64_t max_bytes = 0;
        for (MessageSlot slot; dry_run.fill(slot);)
            if (!slot.direct) {
                ++messages;
                max_bytes = std::max(max_bytes, slot.bytes);
            }
        for (std::size_t i = 0; i < std::min(slots, messages); ++i)
            buffers_.push_back(pool.take(static_cast<std::size_t>(max_bytes)));
    }
    /// Start messages in free slots.
    void start(MPI_Comm comm) {
        for (auto& slot : slots_)
            if (slot.request == MPI_REQUEST_NULL && fill(slot))
                start(slot, comm);
    }
    /// Complete message `number`.
    void complete(std::size_t number) {
        MessageSlot& slot = slots_[number];
        if constexpr (!sends) {
            if (!slot.direct) {
                const std::byte* from = slot.buffer.data();
                for (const auto& part : slot.parts) {
                    copy(packed_tile(from, part.view, part.order), part.view);
                    from += part.view.bytes();
                }
            }
        }
        slot.request = MPI_REQUEST_NULL;
    }
    [[nodiscard]] MPI_Request request(std::size_t number) const { return slots_[number].request; }
    static constexpr std::size_t slots = 2;

  private:
    struct MessageSlot {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<PieceView<Byte>> parts;
        std::int64_t bytes = 0;
        bool direct = false; ///< sent or received without a buffer
        std::span<std::byte> buffer;
    };

    /// Return the next part of the values: a tile of a piece.
    std::optional<PieceView<Byte>> next_part() {
        for (; item_ < items_.size(); ++item_, tiles_.reset()) {
            const auto& [view, order] = items_[item_];
            if (!tiles_)
                tiles_.emplace(view.count, view.components, view.scalar_bytes, order, max_bytes_);
            if (const auto tile = tiles_->next())
                return PieceView<Byte>{tile->of(view), order};
        }
        return std::nullopt;
    }
    /// Add parts to a message until it is full. Return whether there were any.
    bool fill(MessageSlot& slot) {
        slot.parts.clear();
        slot.bytes = 0;
        if (!held_)
            held_ = next_part();
        while (held_ && (slot.bytes == 0 || slot.bytes + held_->view.bytes() <= max_bytes_)) {
            slot.bytes += held_->view.bytes();
            slot.parts.push_back(*held_);
            held_ = next_part();
        }
        if (slot.parts.empty())
            return false;
        const auto& first = slot.parts.front();
        slot.direct = slot.parts.size() == 1 && is_packed(first.view, first.order);
        return true;
    }
    void start(MessageSlot& slot, MPI_Comm comm) {
        const auto& first = slot.parts.front();
        const auto bytes = static_cast<int>(slot.bytes);
        if (slot.direct) {
            transfer(first.view.data, bytes, comm, slot.request);
            return;
        }
        if (slot.buffer.empty()) {
            slot.buffer = buffers_.back();
            buffers_.pop_back();
        }
        if constexpr (sends) {
            std::byte* to = slot.buffer.data();
            for (const auto& part : slot.parts) {
                copy(part.view, packed_tile(to, part.view, part.order));
                to += part.view.bytes();
            }
        }
        transfer(slot.buffer.data(), bytes, comm, slot.request);
    }
    void transfer(Byte* data, int bytes, MPI_Comm comm, MPI_Request& request) {
        if constexpr (sends)
            MPI_Isend(data, bytes, MPI_BYTE, peer_, tag, comm, &request);
        else
            MPI_Irecv(data, bytes, MPI_BYTE, peer_, tag, comm, &request);
    }

    int peer_;
    std::int64_t max_bytes_;
    std::vector<PieceView<Byte>> items_;
    std::size_t item_ = 0;
    std::optional<TileCutter> tiles_;
    std::optional<PieceView<Byte>> held_; ///< the first part of the next message
    std::array<MessageSlot, slots> slots_;
    std::vector<std::span<std::byte>> buffers_; ///< not used by a slot yet
};

using OutgoingTransfer = PeerTransfer<const std::byte>;
using IncomingTransfer = PeerTransfer<std::byte>;

/// A message in flight.
struct ActiveMessage {
    bool sends;
    std::size_t stream, slot;
};

template <class Streams>
void collect(const Streams& streams, bool sends, std::vector<MPI_Request>& requests,
             std::vector<ActiveMessage>& active) {
    for (std::size_t i = 0; i < streams.size(); ++i)
        for (std::size_t slot = 0; slot < streams[i].slots; ++slot)
            if (streams[i].request(slot) != MPI_REQUEST_NULL) {
                requests.push_back(streams[i].request(slot));
                active.push_back({sends, i, slot});
            }
}

void transfer(std::vector<OutgoingTransfer>& outgoing, std::vector<IncomingTransfer>& incoming,
              MPI_Comm comm) {
    for (auto& stream : incoming)
        stream.start(comm);
    for (auto& stream : outgoing)
        stream.start(comm);
    std::vector<MPI_Request> requests;
    std::vector<ActiveMessage> active;
    std::vector<int> done;
    parallel::Backoff backoff;
    for (;;) {
        requests.clear();
        active.clear();
        collect(incoming, false, requests, active);
        collect(outgoing, true, requests, active);
        if (requests.empty())
            return;
        int count = 0;
        done.resize(requests.size());
        MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count, done.data(),
                     MPI_STATUSES_IGNORE);
        if (count == 0) {
            backoff.pause();
            continue;
        }
        backoff = {};
        for (int i = 0; i < count; ++i) {
            const auto [sends, stream, slot] =
                active[static_cast<std::size_t>(done[static_cast<std::size_t>(i)])];
            if (sends) {
                outgoing[stream].complete(slot);
                outgoing[stream].start(comm);
            } else {
                incoming[stream].complete(slot);
                incoming[stream].start(comm);
            }
        }
    }
}

/// Requests of all other ranks to this one.
struct RequestTable {
    std::vector<int> counts;       ///< from each rank
    std::vector<PieceRequest> all; ///< in order of rank
};

std::vector<int> starts_of(const std::vector<int>& counts) {
    std::vector<int> starts(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
    return starts;
}

RequestTable exchange_requests(const parallel::CollectiveGroup& group,
                               std::span<const Fetch> wanted) {
    static_assert(std::is_trivially_copyable_v<PieceRequest>);
    const auto ranks = static_cast<std::size_t>(group.size());
    std::vector<int> own_counts(ranks);
    for (const Fetch& fetch : wanted)
        ++own_counts[fetch.rank];
    std::vector<int> places = starts_of(own_counts);
    const std::vector<int> starts = places;
    std::vector<PieceRequest> sent(wanted.size());
    for (const Fetch& fetch : wanted)
        sent[static_cast<std::size_t>(places[fetch.rank]++)] = fetch.request;

    RequestTable received;
    received.counts.resize(ranks);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoall(own_counts.data(), 1, MPI_INT, received.counts.data(), 1, MPI_INT, group.comm(),
                  &request);
    parallel::blocking_wait(request);
    const std::vector<int> their_starts = starts_of(received.counts);
    received.all.resize(static_cast<std::size_t>(their_starts.back() + received.counts.back()));

    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(sizeof(PieceRequest)), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Ialltoallv(sent.data(), own_counts.data(), starts.data(), type, received.all.data(),
                   received.counts.data(), their_starts.data(), type, group.comm(), &request);
    parallel::blocking_wait(request);
    MPI_Type_free(&type);
    return received;
}

} // namespace

void Exchange::run(std::span<const Fetch> wanted, const Select& select) {
    if (!group_.any(!wanted.empty()))
        return;
    const RequestTable requests = exchange_requests(group_, wanted);
    const std::int64_t max_bytes = message_bytes(group_.size());
    const auto ranks = static_cast<std::size_t>(group_.size());
    std::vector<OutgoingTransfer> outgoing;
    std::vector<IncomingTransfer> incoming;
    struct EndStep { // also when it throws
        BufferPool& pool;
        ~EndStep() { pool.end_step(); }
    } end_step{pool_};
    // A rank without memory must fail before others wait for its messages.
    group_.run_collectively([&] {
        for (int rank = 0; rank < group_.size(); ++rank) {
            outgoing.emplace_back(rank, max_bytes);
            incoming.emplace_back(rank, max_bytes);
        }
        std::size_t next = 0;
        for (std::size_t rank = 0; rank < ranks; ++rank)
            for (int i = 0; i < requests.counts[rank]; ++i, ++next)
                outgoing[rank].add({select(requests.all[next]), requests.all[next].order});
        for (const Fetch& fetch : wanted)
            incoming[fetch.rank].add({fetch.to, fetch.request.order});
        std::erase_if(outgoing, [](const OutgoingTransfer& stream) { return stream.empty(); });
        std::erase_if(incoming, [](const IncomingTransfer& stream) { return stream.empty(); });
        for (auto& stream : outgoing)
            stream.prepare(pool_);
        for (auto& stream : incoming)
            stream.prepare(pool_);
    });
    transfer(outgoing, incoming, group_.comm());
}

} // namespace uzushio::staging::inproc
