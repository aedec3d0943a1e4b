// Common set-up of the tests of compositing: ranks, halves of the job, options of an algorithm.
#pragma once

#include <mpi.h>

#include <cctype>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "compositing/compositor_options.hpp"

namespace uzushio::test {

inline int rank_of(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

inline int size_of(MPI_Comm comm) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    return size;
}

inline int rank() { return rank_of(MPI_COMM_WORLD); }
inline int ranks() { return size_of(MPI_COMM_WORLD); }

/// Communicators of a job in two parts: the first `first` ranks and the others. Both composite at
/// the same time, so that a job of nine ranks covers all numbers of ranks from 1 to 9 in five cuts.
class JobHalves {
  public:
    explicit JobHalves(int first) {
        MPI_Comm_split(MPI_COMM_WORLD, rank() < first ? 0 : 1, rank(), &comm_);
    }
    ~JobHalves() { MPI_Comm_free(&comm_); }
    JobHalves(const JobHalves&) = delete;
    JobHalves& operator=(const JobHalves&) = delete;

    /// Return the communicator of this rank's half.
    [[nodiscard]] MPI_Comm comm() const { return comm_; }

    /// Return the cuts that make all numbers of ranks up to that of the job; 0 is the whole job.
    static std::vector<int> cuts() {
        std::vector<int> found(static_cast<std::size_t>(ranks() / 2 + 1));
        std::iota(found.begin(), found.end(), 0);
        return found;
    }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

template <class Pixel> constexpr compositing::ImageFormat format_of() {
    using namespace compositing;
    return std::is_same_v<Pixel, Rgba8>       ? ImageFormat::rgba8
           : std::is_same_v<Pixel, RgbaFloat> ? ImageFormat::rgba_float
                                              : ImageFormat::rgba8_depth;
}

/// Return options with an algorithm, "ALGORITHM on nodes of N" for hybrids with N ranks a node.
inline compositing::CompositorOptions options_of(const std::string& text, int width, int height) {
    compositing::CompositorOptions options;
    options.width = width;
    options.height = height;
    const auto nodes = text.find(" on nodes of ");
    options.algorithm = text.substr(0, nodes);
    if (nodes != std::string::npos)
        options.ranks_per_node = text.back() - '0';
    return options;
}

/// Return the letters and digits of an algorithm's name, for names of tests.
inline std::string test_name(std::string algorithm) {
    std::erase_if(algorithm,
                  [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
    return algorithm;
}

} // namespace uzushio::test
