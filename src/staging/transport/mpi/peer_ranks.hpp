#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace uzushio::staging::mpi {

/// Ranks of a writer and of a reader in MPI_COMM_WORLD, as destinations of messages. Local: nothing
/// is made collectively.
class PeerRanks {
  public:
    PeerRanks() = default; ///< no ranks
    /// Ranks in MPI_COMM_WORLD, in order of rank on their side.
    PeerRanks(std::vector<std::int32_t> writers, std::vector<std::int32_t> readers)
        : writers_(std::move(writers)), readers_(std::move(readers)) {}

    /// Communicator of the ranks that `writer` and `reader` return.
    [[nodiscard]] static MPI_Comm comm() { return MPI_COMM_WORLD; }
    [[nodiscard]] int writer(int rank) const { return writers_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] int reader(int rank) const { return readers_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] int writers() const { return static_cast<int>(writers_.size()); }
    [[nodiscard]] int readers() const { return static_cast<int>(readers_.size()); }

    [[nodiscard]] const std::vector<std::int32_t>& writer_ranks() const { return writers_; }
    [[nodiscard]] const std::vector<std::int32_t>& reader_ranks() const { return readers_; }

  private:
    std::vector<std::int32_t> writers_;
    std::vector<std::int32_t> readers_;
};

} // namespace uzushio::staging::mpi
