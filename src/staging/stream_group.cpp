#include "staging/stream_group.hpp"

#include <utility>

#include "staging/interrupt.hpp"
#include "staging/queue/queue_timeout.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging {

parallel::CollectiveGroup stream_group(MPI_Comm comm, std::string name) {
    return parallel::CollectiveGroup(
        comm, std::move(name),
        parallel::ErrorTypes::of<StagingError, PeerGone, PeerSilent, QueueTimeout, WaitStopped>());
}

} // namespace uzushio::staging
