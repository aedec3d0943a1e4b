#include "staging/transport/mpi/tags.hpp"

#include <mpi.h>

#include <algorithm>
#include <atomic>

#include "staging/transport/mpi/job_state.hpp"

namespace uzushio::staging::mpi {
namespace {

struct ChannelCounter {
    std::atomic<std::uint32_t> next = 0;
};

} // namespace

std::uint32_t new_channel() {
    int* largest = nullptr;
    int known = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &known);
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int all = ((known != 0 ? *largest : 32767) - connect_tag) / tags_per_channel;
    const auto own = static_cast<std::uint32_t>(std::max(1, all / size));
    return (static_cast<std::uint32_t>(rank) * own + job_state<ChannelCounter>().next++ % own) %
           static_cast<std::uint32_t>(all);
}

} // namespace uzushio::staging::mpi
