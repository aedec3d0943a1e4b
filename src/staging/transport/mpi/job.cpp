#include "staging/transport/mpi/job.hpp"

#include <numeric>

#include "parallel/communicator.hpp"
#include "staging/require.hpp"

namespace uzushio::staging::mpi {

void require_mpi(const std::string& user, bool threads) {
    require(parallel::mpi_is_running(), user,
            " needs MPI: start it with mpiexec, in one launch with the other "
            "side, and open it between MPI_Init_thread and MPI_Finalize.");
    int level = 0;
    MPI_Query_thread(&level);
    require(!threads || level >= MPI_THREAD_MULTIPLE, user,
            " serves readers in a background thread: initialise MPI with "
            "MPI_Init_thread and MPI_THREAD_MULTIPLE instead of MPI_Init.");
}

std::vector<std::int32_t> world_ranks(MPI_Comm comm) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm_group(comm == MPI_COMM_NULL ? MPI_COMM_SELF : comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int size = 0;
    MPI_Group_size(group, &size);
    std::vector<std::int32_t> own(static_cast<std::size_t>(size));
    std::iota(own.begin(), own.end(), 0);
    std::vector<std::int32_t> ranks(own.size());
    MPI_Group_translate_ranks(group, size, own.data(), world, ranks.data());
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return ranks;
}

} // namespace uzushio::staging::mpi
