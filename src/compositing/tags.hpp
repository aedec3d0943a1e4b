#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>

namespace uzushio::compositing {

/// Tags of a compositor's messages. The tag of a picture holds its number and a hash of the
/// visibility orders so far: a message never matches a receive of a rank that was given others.
class Tags {
  public:
    static constexpr int control = 0; ///< between the ranks' order checks
    static constexpr int measure = 1;

    /// `frames`: maximum number of pictures under way.
    Tags(MPI_Comm comm, int frames) : numbers_(std::max(frames, 64)) {
        void* value = nullptr;
        int found = 0;
        MPI_Comm_get_attr(comm, MPI_TAG_UB, static_cast<void*>(&value), &found);
        const int largest =
            found != 0 ? *static_cast<const int*>(value) : 32767; // what MPI promises
        hashes_ = std::max((largest - 1) / numbers_, 1);
    }

    /// Messages of one tag between two ranks arrive in the order of their pictures, since a rank
    /// has at most `frames` pictures under way.
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
