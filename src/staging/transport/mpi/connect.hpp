#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/reader_options.hpp"

namespace uzushio::staging::mpi {

/// Result of a handshake between a reader and a writer.
struct Handshake {
    std::uint32_t channel = 0;
    MpiMode mode = MpiMode::two_sided;
    std::vector<std::int32_t> writers; ///< in MPI_COMM_WORLD, in order of rank
    std::vector<std::int32_t> readers;
};

/// Connect to the writer of a stream in this job, whose ranks are unknown and which may start
/// later. Rank 0 sends requests to the rank where the stream was last, then to every process that
/// is not a reader, repeatedly. Collective over the group; throws on all ranks; waits up to the
/// options' attach limit.
[[nodiscard]] Handshake connect(const std::string& stream, const parallel::CollectiveGroup& group,
                                const ReaderOptions& options);

} // namespace uzushio::staging::mpi
