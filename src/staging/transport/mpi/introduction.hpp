#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/reader_options.hpp"

namespace uzushio::staging::mpi {

/// What a reader knows once a writer has let it in.
struct Introduction {
    std::uint32_t channel = 0;
    MpiMode mode = MpiMode::two_sided;
    std::vector<std::int32_t> writers; ///< in MPI_COMM_WORLD, in order of rank
    std::vector<std::int32_t> readers;
};

/// Find the writer of a stream, of whom nothing is known but that it is, or will be, in this job:
/// rank 0 knocks where the stream was last, then at every process that is no reader, again from
/// time to time. Collective over the group, and throws on all; waits up to the options' attach
/// limit.
[[nodiscard]] Introduction introduce(const std::string& stream,
                                     const parallel::CollectiveGroup& group,
                                     const ReaderOptions& options);

} // namespace uzushio::staging::mpi
