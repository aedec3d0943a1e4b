#include "compositing/order_check.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <stdexcept>
#include <string>

#include "compositing/message_tags.hpp"
#include "parallel/simulated.hpp"

namespace uzushio::compositing {

namespace {

constexpr double poll_interval = 1e-3; // seconds
constexpr std::uint64_t interval = 64; // pictures between comparisons in the tree
// Changes of order that are kept, 1 MiB of memory: differences further back are not found.
constexpr std::size_t max_changes = 65536;
constexpr std::size_t preallocated = 16; // messages

/// FNV-1a of 64-bit words, mixed once more since tags take the lowest bits.
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte)
        hash = (hash ^ (word >> 8 * byte & 0xffU)) * 0x100000001b3U;
    return hash ^ hash >> 29;
}

bool due(std::uint64_t pictures) {
    return pictures % interval == 0 || (pictures < interval && std::has_single_bit(pictures));
}

[[noreturn]] void throw_conflict(std::uint64_t number, int first, int second) {
    throw std::invalid_argument(
        "compositing: the visibility orders up to picture " + std::to_string(number + 1) +
        " are not the same on all ranks: ranks " + std::to_string(first) + " and " +
        std::to_string(second) +
        " differ. Give set_order the same list on all ranks for each picture, also on those that "
        "are not in it");
}

} // namespace

OrderCheck::OrderCheck(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    future_.reserve(preallocated);
    outgoing_.reserve(preallocated);
    for (idle_.reserve(preallocated); idle_.size() < preallocated;)
        idle_.push_back(std::make_unique<Outgoing>());
}

OrderCheck::~OrderCheck() {
    for (auto& message : outgoing_)
        (void)message.release();
}

std::uint64_t OrderCheck::hash_of(std::span<const int> order) {
    std::uint64_t hash = mix(0xcbf29ce484222325U, order.size());
    for (const int rank : order)
        hash = mix(hash, static_cast<std::uint64_t>(rank));
    return hash;
}

void OrderCheck::add_picture(std::uint64_t number, std::uint64_t order) {
    if (history_.empty() || order != order_) {
        history_.push_back({number, mix(mix(hash(), number), order)});
        if (history_.size() > max_changes)
            history_.pop_front();
        order_ = order;
    }
    next_ = number + 1;
    // Compare hashes that other ranks sent ahead of this picture.
    for (std::size_t i = 0; i < future_.size();) {
        if (future_[i].number >= next_) {
            ++i;
            continue;
        }
        const auto [of, other, rank] = future_[i];
        future_[i] = future_.back();
        future_.pop_back();
        compare(of, other, rank);
    }
    if (!parallel::simulated && rank_ > 0 && due(next_))
        send((rank_ - 1) / 2, {static_cast<std::uint64_t>(MessageType::hash), number, hash(), 0});
}

void OrderCheck::send_hash(std::uint64_t number, std::span<const int> ranks) {
    const auto after = std::ranges::upper_bound(history_, number, {}, &OrderChange::number);
    if (after == history_.begin())
        return;
    for (const int rank : ranks)
        if (rank != rank_)
            send(rank, {static_cast<std::uint64_t>(MessageType::hash), number,
                        std::prev(after)->hash, 0});
}

void OrderCheck::poll() {
    if (parallel::simulated || ranks_ == 1)
        return;
    const double now = MPI_Wtime();
    if (now < next_poll_)
        return;
    next_poll_ = now + poll_interval;
    for (;;) {
        int has_arrived = 0;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, MessageTags::control, comm_, &has_arrived, &status);
        if (has_arrived == 0)
            break;
        ControlMessage words{};
        MPI_Recv(words.data(), static_cast<int>(words.size()), MPI_UINT64_T, status.MPI_SOURCE,
                 MessageTags::control, comm_, MPI_STATUS_IGNORE);
        if (words[0] == static_cast<std::uint64_t>(MessageType::notice))
            throw_conflict(words[1], static_cast<int>(words[2]), static_cast<int>(words[3]));
        if (words[1] < next_)
            compare(words[1], words[2], status.MPI_SOURCE);
        else
            future_.push_back({words[1], words[2], status.MPI_SOURCE});
    }
    for (std::size_t i = outgoing_.size(); i-- > 0;) {
        int ended = 0;
        MPI_Test(&outgoing_[i]->request, &ended, MPI_STATUS_IGNORE);
        if (ended == 0)
            continue;
        idle_.push_back(std::move(outgoing_[i]));
        outgoing_[i] = std::move(outgoing_.back());
        outgoing_.pop_back();
    }
}

void OrderCheck::compare(std::uint64_t number, std::uint64_t hash, int rank) {
    const auto after = std::ranges::upper_bound(history_, number, {}, &OrderChange::number);
    if (after != history_.begin() && std::prev(after)->hash != hash)
        report_conflict(number, rank);
}

void OrderCheck::report_conflict(std::uint64_t number, int other) {
    const auto [first, second] = std::minmax(rank_, other);
    for (int rank = 0; rank < ranks_; ++rank)
        if (rank != rank_)
            send(rank, {static_cast<std::uint64_t>(MessageType::notice), number,
                        static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(second)});
    throw_conflict(number, first, second);
}

void OrderCheck::send(int rank, const ControlMessage& words) {
    if (idle_.empty())
        idle_.push_back(std::make_unique<Outgoing>());
    auto message = std::move(idle_.back());
    idle_.pop_back();
    message->words = words;
    MPI_Isend(message->words.data(), static_cast<int>(words.size()), MPI_UINT64_T, rank,
              MessageTags::control, comm_, &message->request);
    int ended = 0;
    MPI_Test(&message->request, &ended, MPI_STATUS_IGNORE);
    (ended != 0 ? idle_ : outgoing_).push_back(std::move(message));
}

} // namespace uzushio::compositing
