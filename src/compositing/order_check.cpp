#include "compositing/order_check.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <stdexcept>
#include <string>

#include "compositing/tags.hpp"

namespace uzushio::compositing {

namespace {

#if defined(SMPI_H) || defined(MPI_SMPI)
constexpr bool simulated = true; // each look is an event of its own
#else
constexpr bool simulated = false;
#endif

constexpr double between_looks = 1e-3; // seconds
constexpr std::uint64_t interval = 64; // pictures between comparisons in the tree
// Of a rank that is further ahead of another one than so many changes, differences are no longer
// found: 1 MiB of memory.
constexpr std::size_t max_changes = 65536;
constexpr std::size_t few = 16; // messages for which memory is allocated beforehand

/// FNV-1a of 64-bit words. The bits are mixed once more, since tags take the lowest ones.
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte)
        hash = (hash ^ (word >> 8 * byte & 0xffU)) * 0x100000001b3U;
    return hash ^ hash >> 29;
}

bool due(std::uint64_t pictures) {
    return pictures % interval == 0 || (pictures < interval && std::has_single_bit(pictures));
}

[[noreturn]] void refuse(std::uint64_t number, int first, int second) {
    throw std::invalid_argument(
        "compositing: the visibility orders up to picture " + std::to_string(number + 1) +
        " are not the same on all ranks, as they must be: ranks " + std::to_string(first) +
        " and " + std::to_string(second) +
        " differ. Give set_order the same list on all ranks for each picture, also on those that "
        "are not in it");
}

} // namespace

OrderCheck::OrderCheck(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    pending_.reserve(few);
    outgoing_.reserve(few);
    for (idle_.reserve(few); idle_.size() < few;)
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

void OrderCheck::submitted(std::uint64_t number, std::uint64_t order) {
    if (history_.empty() || order != order_) {
        history_.push_back({number, mix(mix(hash(), number), order)});
        if (history_.size() > max_changes)
            history_.pop_front();
        order_ = order;
    }
    next_ = number + 1;
    // The ranks whose hashes were waiting for this picture; the list is empty most often.
    for (std::size_t i = 0; i < pending_.size();) {
        if (pending_[i].number >= next_) {
            ++i;
            continue;
        }
        const auto [of, other, rank] = pending_[i];
        pending_[i] = pending_.back();
        pending_.pop_back();
        compare(of, other, rank);
    }
    if (!simulated && rank_ > 0 && due(next_))
        send((rank_ - 1) / 2, {static_cast<std::uint64_t>(Kind::hash), number, hash(), 0});
}

void OrderCheck::ask(std::uint64_t number, std::span<const int> ranks) {
    const auto after = std::ranges::upper_bound(history_, number, {}, &Change::number);
    if (after == history_.begin())
        return;
    for (const int rank : ranks)
        if (rank != rank_)
            send(rank, {static_cast<std::uint64_t>(Kind::hash), number, std::prev(after)->hash, 0});
}

void OrderCheck::look() {
    if (simulated || ranks_ == 1)
        return;
    const double now = MPI_Wtime();
    if (now < next_look_)
        return;
    next_look_ = now + between_looks;
    for (;;) {
        int found = 0;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, Tags::control, comm_, &found, &status);
        if (found == 0)
            break;
        Words words{};
        MPI_Recv(words.data(), static_cast<int>(words.size()), MPI_UINT64_T, status.MPI_SOURCE,
                 Tags::control, comm_, MPI_STATUS_IGNORE);
        if (words[0] == static_cast<std::uint64_t>(Kind::notice))
            refuse(words[1], static_cast<int>(words[2]), static_cast<int>(words[3]));
        if (words[1] < next_)
            compare(words[1], words[2], status.MPI_SOURCE);
        else
            pending_.push_back({words[1], words[2], status.MPI_SOURCE});
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
    const auto after = std::ranges::upper_bound(history_, number, {}, &Change::number);
    if (after != history_.begin() && std::prev(after)->hash != hash)
        disagree(number, rank);
}

void OrderCheck::disagree(std::uint64_t number, int other) {
    const auto [first, second] = std::minmax(rank_, other);
    for (int rank = 0; rank < ranks_; ++rank)
        if (rank != rank_)
            send(rank, {static_cast<std::uint64_t>(Kind::notice), number,
                        static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(second)});
    refuse(number, first, second);
}

void OrderCheck::send(int rank, const Words& words) {
    if (idle_.empty())
        idle_.push_back(std::make_unique<Outgoing>());
    auto message = std::move(idle_.back());
    idle_.pop_back();
    message->words = words;
    MPI_Isend(message->words.data(), static_cast<int>(words.size()), MPI_UINT64_T, rank,
              Tags::control, comm_, &message->request);
    int ended = 0;
    MPI_Test(&message->request, &ended, MPI_STATUS_IGNORE);
    (ended != 0 ? idle_ : outgoing_).push_back(std::move(message));
}

} // namespace uzushio::compositing
