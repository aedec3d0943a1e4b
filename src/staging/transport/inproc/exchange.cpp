#include "staging/transport/inproc/exchange.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "parallel/backoff.hpp"
#include "staging/datamodel/copy.hpp"
#include "staging/datamodel/run_cursor.hpp"
#include "staging/transport/inproc/slabs.hpp"

namespace uzushio::staging::inproc {
namespace {

constexpr int tag = 2;

/// Bytes of one message: large enough to be fast, small enough that a rank which talks to all
/// others at once does not need much memory. The same on all ranks.
std::int64_t message_bytes(int ranks) {
    return std::clamp<std::int64_t>((std::int64_t{64} << 20) / ranks, std::int64_t{1} << 20,
                                    std::int64_t{8} << 20);
}

template <class Byte>
BasicArrayView<Byte> packed(Byte* data, const ConstArrayView& like, Order order) {
    const Layout layout = order == Order::planar
                              ? planar(like.count, like.scalar_bytes)
                              : interleaved(like.count, like.components, like.scalar_bytes);
    return {data, like.count, layout, like.components, like.scalar_bytes};
}

template <class Byte> struct Item {
    BasicArrayView<Byte> view;
    Order order;
};

/// All that one rank sends to another, or gets from it: values of pieces, cut into messages of
/// about equal size. The other side cuts them alike. Two messages are under way at a time.
template <class Byte> class Stream {
  public:
    static constexpr bool sends = std::is_const_v<Byte>;

    Stream(int peer, std::int64_t most_bytes) : peer_(peer), most_(most_bytes) {}

    void add(const Item<Byte>& item) { items_.push_back(item); }
    [[nodiscard]] bool empty() const { return items_.empty(); }

    /// Take the memory that messages need, so that to move them takes no more.
    void prepare(BufferPool& pool) {
        Stream rehearsal = *this;
        std::size_t messages = 0; // that need a buffer
        std::int64_t most = 0;
        for (Slot slot; rehearsal.cut(slot);)
            if (!slot.direct) {
                ++messages;
                most = std::max(most, slot.bytes);
            }
        for (std::size_t i = 0; i < std::min(slots, messages); ++i)
            buffers_.push_back(pool.take(static_cast<std::size_t>(most)));
    }
    /// Start what can be started.
    void start(MPI_Comm comm) {
        for (auto& slot : slots_)
            if (slot.request == MPI_REQUEST_NULL && cut(slot))
                start(slot, comm);
    }
    /// Message `number` has arrived, or left.
    void complete(std::size_t number) {
        Slot& slot = slots_[number];
        if constexpr (!sends) {
            if (!slot.direct) {
                const std::byte* from = slot.buffer.data();
                for (const auto& part : slot.parts) {
                    copy(packed(from, part.view, part.order), part.view);
                    from += part.view.bytes();
                }
            }
        }
        slot.request = MPI_REQUEST_NULL;
    }
    [[nodiscard]] MPI_Request request(std::size_t number) const { return slots_[number].request; }
    static constexpr std::size_t slots = 2;

  private:
    struct Slot {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<Item<Byte>> parts;
        std::int64_t bytes = 0;
        bool direct = false; ///< from or into the values themselves
        std::span<std::byte> buffer;
    };

    /// The next part of the values: a slab of a piece.
    std::optional<Item<Byte>> next_part() {
        for (; item_ < items_.size(); ++item_, slabs_.reset()) {
            const auto& [view, order] = items_[item_];
            if (!slabs_)
                slabs_.emplace(view.count, most_ / (view.components * view.scalar_bytes));
            if (const auto slab = slabs_->next())
                return Item<Byte>{view.sub(*slab), order};
        }
        return std::nullopt;
    }
    /// Take parts into a message until it is full. Returns whether there were any.
    bool cut(Slot& slot) {
        slot.parts.clear();
        slot.bytes = 0;
        if (!held_)
            held_ = next_part();
        while (held_ && (slot.bytes == 0 || slot.bytes + held_->view.bytes() <= most_)) {
            slot.bytes += held_->view.bytes();
            slot.parts.push_back(*held_);
            held_ = next_part();
        }
        if (slot.parts.empty())
            return false;
        const auto& first = slot.parts.front();
        slot.direct =
            slot.parts.size() == 1 && RunCursor(first.view, first.order).run_bytes() == slot.bytes;
        return true;
    }
    void start(Slot& slot, MPI_Comm comm) {
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
                copy(part.view, packed(to, part.view, part.order));
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
    std::int64_t most_;
    std::vector<Item<Byte>> items_;
    std::size_t item_ = 0;
    std::optional<Slabs> slabs_;
    std::optional<Item<Byte>> held_; ///< the part that the next message begins with
    std::array<Slot, slots> slots_;
    std::vector<std::span<std::byte>> buffers_; ///< that no slot has yet
};

using Outgoing = Stream<const std::byte>;
using Incoming = Stream<std::byte>;

/// A message under way.
struct Active {
    bool sends;
    std::size_t stream, slot;
};

template <class Streams>
void collect(const Streams& streams, bool sends, std::vector<MPI_Request>& requests,
             std::vector<Active>& active) {
    for (std::size_t i = 0; i < streams.size(); ++i)
        for (std::size_t slot = 0; slot < streams[i].slots; ++slot)
            if (streams[i].request(slot) != MPI_REQUEST_NULL) {
                requests.push_back(streams[i].request(slot));
                active.push_back({sends, i, slot});
            }
}

void transfer(std::vector<Outgoing>& outgoing, std::vector<Incoming>& incoming, MPI_Comm comm) {
    for (auto& stream : incoming)
        stream.start(comm);
    for (auto& stream : outgoing)
        stream.start(comm);
    std::vector<MPI_Request> requests;
    std::vector<Active> active;
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

/// What all ranks ask each other for.
struct Requests {
    std::vector<int> counts;       ///< from each rank
    std::vector<PieceRequest> all; ///< in order of rank
};

std::vector<int> starts_of(const std::vector<int>& counts) {
    std::vector<int> starts(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
    return starts;
}

Requests tell(const parallel::CollectiveGroup& group, std::span<const Fetch> wanted) {
    static_assert(std::is_trivially_copyable_v<PieceRequest>);
    const auto ranks = static_cast<std::size_t>(group.size());
    std::vector<int> mine(ranks);
    for (const Fetch& fetch : wanted)
        ++mine[fetch.rank];
    std::vector<int> places = starts_of(mine);
    const std::vector<int> starts = places;
    std::vector<PieceRequest> asked(wanted.size());
    for (const Fetch& fetch : wanted)
        asked[static_cast<std::size_t>(places[fetch.rank]++)] = fetch.request;

    Requests theirs;
    theirs.counts.resize(ranks);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoall(mine.data(), 1, MPI_INT, theirs.counts.data(), 1, MPI_INT, group.comm(),
                  &request);
    parallel::blocking_wait(request);
    const std::vector<int> their_starts = starts_of(theirs.counts);
    theirs.all.resize(static_cast<std::size_t>(their_starts.back() + theirs.counts.back()));

    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(sizeof(PieceRequest)), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Ialltoallv(asked.data(), mine.data(), starts.data(), type, theirs.all.data(),
                   theirs.counts.data(), their_starts.data(), type, group.comm(), &request);
    parallel::blocking_wait(request);
    MPI_Type_free(&type);
    return theirs;
}

} // namespace

void Exchange::run(std::span<const Fetch> wanted, const Select& select) {
    if (!group_.any(!wanted.empty()))
        return;
    const Requests requests = tell(group_, wanted);
    const std::int64_t most = message_bytes(group_.size());
    const auto ranks = static_cast<std::size_t>(group_.size());
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    struct Over { // also when it throws
        BufferPool& pool;
        ~Over() { pool.end_step(); }
    } over{pool_};
    // A rank that lacks memory must say so before others wait for its messages.
    group_.run_collectively([&] {
        for (int rank = 0; rank < group_.size(); ++rank) {
            outgoing.emplace_back(rank, most);
            incoming.emplace_back(rank, most);
        }
        std::size_t next = 0;
        for (std::size_t rank = 0; rank < ranks; ++rank)
            for (int i = 0; i < requests.counts[rank]; ++i, ++next)
                outgoing[rank].add({select(requests.all[next]), requests.all[next].order});
        for (const Fetch& fetch : wanted)
            incoming[fetch.rank].add({fetch.to, fetch.request.order});
        std::erase_if(outgoing, [](const Outgoing& stream) { return stream.empty(); });
        std::erase_if(incoming, [](const Incoming& stream) { return stream.empty(); });
        for (auto& stream : outgoing)
            stream.prepare(pool_);
        for (auto& stream : incoming)
            stream.prepare(pool_);
    });
    transfer(outgoing, incoming, group_.comm());
}

} // namespace uzushio::staging::inproc
