// Messages between ranks, measured with any MPI or simulated with SimGrid's smpicxx; see
// tests/scale/simulation.py.
//
//   mpiexec … network SAMPLES PATTERN BYTES …
//
// Patterns: `ping` between ranks 0 and 1, half a round trip; `ring`, from each rank to the next;
// `all` and `allv`, an MPI_Alltoall and an MPI_Alltoallv of BYTES to each rank. From the first half
// of the ranks to the other, as writers and readers: `halves`, from each to the one half of the
// ranks higher; `neighbours`, from each even rank to the next; `four`, a quarter of BYTES to each
// of four readers, all at once; `turns`, the same, one reader after the other. Rank 0 prints a line
// for each: pattern, bytes, and microseconds, the least of SAMPLES means.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

/// Calls in a sample of about a millisecond or more.
int calls(std::size_t bytes) {
    return std::clamp(static_cast<int>(2'000'000 / (bytes + 1)), 4, 50);
}

/// Send `bytes` of each writer to readers.
void transfer(std::string_view pattern, int rank, int ranks, int bytes, char* from, char* to) {
    const int half = ranks / 2;
    const bool pairs = pattern == "neighbours";
    const bool writes = pairs ? rank % 2 == 0 : rank < half;
    const int parts = pattern == "four" || pattern == "turns" ? 4 : 1;
    const int size = bytes / parts;
    MPI_Request requests[4];
    for (int i = 0; i < parts; ++i) {
        // Parts of a writer go to readers a quarter of them apart, as between other decompositions.
        const int shift = i * half / parts;
        const int mine = rank % half;
        const int other = pairs    ? rank ^ 1
                          : writes ? half + (mine + shift) % half
                                   : (mine + half - shift) % half;
        char* const at = (writes ? from : to) + std::ptrdiff_t{i} * size;
        if (writes)
            MPI_Isend(at, size, MPI_CHAR, other, i, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(at, size, MPI_CHAR, other, i, MPI_COMM_WORLD, &requests[i]);
        if (pattern == "turns")
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    if (pattern != "turns")
        MPI_Waitall(parts, requests, MPI_STATUSES_IGNORE);
}

double seconds_of(std::string_view pattern, std::size_t bytes, int count) {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const bool all = pattern.starts_with("all");
    const std::size_t size = bytes * static_cast<std::size_t>(all ? ranks : 1) + 1;
    std::vector<char> from(size, 1), to(size, 2);
    const int one = static_cast<int>(bytes);
    const std::vector<int> counts(static_cast<std::size_t>(ranks), one);
    std::vector<int> offsets(counts.size());
    for (std::size_t i = 0; i < offsets.size(); ++i)
        offsets[i] = one * static_cast<int>(i);
    const auto call = [&] {
        if (pattern == "ping" && rank < 2) {
            if (rank == 0)
                MPI_Send(from.data(), one, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(to.data(), one, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1)
                MPI_Send(from.data(), one, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        } else if (pattern == "ring") {
            MPI_Sendrecv(from.data(), one, MPI_CHAR, (rank + 1) % ranks, 0, to.data(), one,
                         MPI_CHAR, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        } else if (pattern == "all") {
            MPI_Alltoall(from.data(), one, MPI_CHAR, to.data(), one, MPI_CHAR, MPI_COMM_WORLD);
        } else if (pattern == "allv") {
            MPI_Alltoallv(from.data(), counts.data(), offsets.data(), MPI_CHAR, to.data(),
                          counts.data(), offsets.data(), MPI_CHAR, MPI_COMM_WORLD);
        } else {
            transfer(pattern, rank, ranks, one, from.data(), to.data());
        }
    };
    call();
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = -MPI_Wtime();
    for (int i = 0; i < count; ++i)
        call();
    seconds += MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds / count / (pattern == "ping" ? 2 : 1);
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int samples = argc > 1 ? std::atoi(argv[1]) : 0;
    const std::size_t cases = argc > 2 ? static_cast<std::size_t>(argc - 2) / 2 : 0;
    std::vector<double> least(cases, 1e30);
    // All cases in turn, so that other load of the machine meets all of them.
    for (int sample = 0; sample < samples; ++sample)
        for (std::size_t i = 0; i < cases; ++i) {
            const auto bytes = static_cast<std::size_t>(std::atol(argv[2 * i + 3]));
            const int count = calls(bytes);
            least[i] = std::min(least[i], seconds_of(argv[2 * i + 2], bytes, count));
        }
    for (std::size_t i = 0; rank == 0 && i < cases; ++i)
        std::printf("%s %s %.4f\n", argv[2 * i + 2], argv[2 * i + 3], 1e6 * least[i]);
    MPI_Finalize();
}
