#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace uzushio::compositing {

/// Check that the visibility order of each picture is the same on all ranks.
///
/// Each rank keeps a hash of all its orders up to each picture. Messages and arrivals of pictures
/// carry the hash, so images of different orders are never blended. Other differences are found by
/// control messages. A rank that waits long sends its hash to the ranks that it waits for. All
/// ranks, including those in no order, send their hashes to a parent in a binary tree: after 1, 2,
/// 4, ..., 64 pictures, then after every 64. A rank that finds a difference notifies all others.
class OrderCheck {
  public:
    explicit OrderCheck(MPI_Comm comm);
    OrderCheck(const OrderCheck&) = delete;
    OrderCheck& operator=(const OrderCheck&) = delete;
    /// Messages that have not been sent yet are leaked.
    ~OrderCheck();

    [[nodiscard]] static std::uint64_t hash_of(std::span<const int> order);
    /// Hash of the orders of all pictures so far.
    [[nodiscard]] std::uint64_t hash() const { return history_.empty() ? 0 : history_.back().hash; }

    // The functions below throw `std::invalid_argument` when they find, or are notified of, a
    // difference.

    /// Add the hash of this rank's order of picture `number`; numbers are consecutive, from 0.
    void add_picture(std::uint64_t number, std::uint64_t order);
    /// Send this rank's hash of picture `number` to ranks that it waits for.
    void send_hash(std::uint64_t number, std::span<const int> ranks);
    /// Receive the messages of other ranks; MPI is polled at most once a millisecond.
    void poll();
    /// Notify all ranks that this rank and `other` have different orders of picture `number`.
    [[noreturn]] void report_conflict(std::uint64_t number, int other);

  private:
    enum class MessageType : std::uint64_t { hash, notice };
    using ControlMessage = std::array<std::uint64_t, 4>; ///< type; picture; hash or two ranks
    struct OrderChange {
        std::uint64_t number; ///< of the first picture
        std::uint64_t hash;
    };
    struct FutureHash { ///< hash of a picture that this rank has not submitted yet
        std::uint64_t number;
        std::uint64_t hash;
        int rank;
    };
    struct Outgoing {
        ControlMessage words;
        MPI_Request request;
    };

    void send(int rank, const ControlMessage& words);
    void compare(std::uint64_t number, std::uint64_t hash, int rank);

    MPI_Comm comm_;
    int rank_ = 0, ranks_ = 1;
    std::deque<OrderChange> history_;
    std::uint64_t order_ = 0; ///< hash of the last picture's order
    std::uint64_t next_ = 0;  ///< number of the next picture
    std::vector<FutureHash> future_;
    std::vector<std::unique_ptr<Outgoing>> outgoing_, idle_; ///< memory is reused
    double next_poll_ = 0;
};

} // namespace uzushio::compositing
