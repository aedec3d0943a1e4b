// ranks: 2 3 4
#include "support/staging_suite.hpp"

namespace uzushio::staging::suite {
namespace {

TestedEngine over_mpi(const std::string& name, MpiMode mode) {
    TestedEngine tested;
    tested.name = name;
    tested.write = [mode](const std::string& stream, MPI_Comm comm, EngineOptions options) {
        options.engine = "mpi";
        options.mpi.mode = mode;
        return Writer(stream, comm, options);
    };
    tested.read = [](const std::string& stream, const std::string&, MPI_Comm comm) {
        return Reader("mpi:" + stream, comm);
    };
    tested.threads = false;
    return tested;
}

INSTANTIATE_TEST_SUITE_P(Engines, StagingSuite,
                         testing::Values(over_mpi("sent", MpiMode::two_sided),
                                         over_mpi("put", MpiMode::push),
                                         over_mpi("got", MpiMode::pull)),
                         name_of);

} // namespace
} // namespace uzushio::staging::suite
