#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>

namespace uzushio::compositing {

/// Tags of a compositor's messages. The tag of a picture holds its number and a hash of the
/// visibility orders so far, so a message never matches a receive of a rank with other orders.
class MessageTags {
  public:
    static constexpr int control = 0; ///< of OrderCheck
    static constexpr int measure = 1;

    /// `frames`: maximum number of pictures in flight.
    MessageTags(MPI_Comm comm, int frames) : numbers_(std::max(frames, 64)) {
        void* value = nullptr;
        int is_set = 0;
        MPI_Comm_get_attr(comm, MPI_TAG_UB, static_cast<void*>(&value), &is_set);
        constexpr int guaranteed = 32767; // by the MPI standard
        const int max_tag = is_set != 0 ? *static_cast<const int*>(value) : guaranteed;
        hashes_ = std::max((max_tag - 1) / numbers_, 1);
    }

    /// Return the tag of a picture. Pictures with the same tag are never in flight at the same time
    /// on one rank, so their messages arrive in order.
    [[nodiscard]] int picture(std::uint64_t number, std::uint64_t hash) const {
        const auto count = static_cast<std::uint64_t>(numbers_);
        return 2 + static_cast<int>(number % count +
                                    count * (hash % static_cast<std::uint64_t>(hashes_)));
    }

  private:
    int numbers_;
    int hashes_ = 1;
};

} // namespace uzushio::compositing
