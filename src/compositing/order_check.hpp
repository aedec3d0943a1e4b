#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace uzushio::compositing {

/// Comparison of visibility orders between ranks, which must be the same for each picture.
///
/// Each rank keeps a hash of all its orders up to each picture. Messages and arrivals of pictures
/// carry the hash, so images of different orders are never blended. What they cannot show is
/// compared by small messages beside the pictures: a rank that waits long sends its hash to the
/// ranks that it waits for, and all ranks, also those that are in no order, send theirs to a parent
/// in a binary tree after 1, 2, 4, ..., 64 pictures and then after every 64. A rank that finds a
/// difference notifies all others.
class OrderCheck {
  public:
    explicit OrderCheck(MPI_Comm comm);
    OrderCheck(const OrderCheck&) = delete;
    OrderCheck& operator=(const OrderCheck&) = delete;
    /// Leaves memory of messages that have not ended to the end of the process.
    ~OrderCheck();

    [[nodiscard]] static std::uint64_t hash_of(std::span<const int> order);
    /// Hash of the orders of all pictures submitted so far.
    [[nodiscard]] std::uint64_t hash() const { return history_.empty() ? 0 : history_.back().hash; }

    // All of these throw `std::invalid_argument` where orders differ, at the latest when the
    // notice of another rank is seen.

    /// Note the hash of this rank's order of picture `number`; numbers begin at 0 and follow each
    /// other.
    void submitted(std::uint64_t number, std::uint64_t order);
    /// Send this rank's hash of picture `number` to ranks that it waits for.
    void ask(std::uint64_t number, std::span<const int> ranks);
    /// Receive what other ranks sent, at most once a millisecond: MPI is not asked more often.
    void look();
    /// Notify all ranks that this rank and `other` have different orders of picture `number`.
    [[noreturn]] void disagree(std::uint64_t number, int other);

  private:
    enum class Kind : std::uint64_t { hash, notice };
    using Words = std::array<std::uint64_t, 4>; ///< kind; picture; hash, or the two ranks
    struct Change {
        std::uint64_t number; ///< of the first picture
        std::uint64_t hash;
    };
    struct Pending { ///< a hash of a picture that this rank has not come to
        std::uint64_t number;
        std::uint64_t hash;
        int rank;
    };
    struct Outgoing {
        Words words;
        MPI_Request request;
    };

    void send(int rank, const Words& words);
    void compare(std::uint64_t number, std::uint64_t hash, int rank);

    MPI_Comm comm_;
    int rank_ = 0, ranks_ = 1;
    std::deque<Change> history_;
    std::uint64_t order_ = 0; ///< hash of the last picture's order
    std::uint64_t next_ = 0;  ///< number of the next picture
    std::vector<Pending> pending_;
    std::vector<std::unique_ptr<Outgoing>> outgoing_, idle_; ///< memory is kept
    double next_look_ = 0;
};

} // namespace uzushio::compositing
