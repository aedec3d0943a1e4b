#pragma once

#include <mpi.h>

#include <limits>
#include <string>

#include "compositing/pixel.hpp"

namespace uzushio::compositing {

/// The same on all ranks.
struct Options {
    int width = 0;
    int height = 0;
    Format format = Format::rgba8;
    /// See `algorithms()`; or `hybrid(ALGORITHM)`, or `auto`.
    std::string algorithm = "radix_k";
    int root = 0;       ///< who gets the picture
    bool gather = true; ///< else each rank keeps the tile that it composited
    /// Pixels of a block that stay together when the image is interlaced, so that ranks get about
    /// as many active pixels each; 0: not interlaced.
    int interlace = 0;
    int frames = 2; ///< pictures that may be under way at a time
    float far = std::numeric_limits<float>::infinity(); ///< depth of the background
    int fan_in = 16; ///< messages that one rank gathers at a time
    /// Ranks that `hybrid` takes for a node, if fewer than share memory; 0: all that do.
    int ranks_per_node = 0;
    /// Seconds that one call waits for other ranks at most, all their drawing included; 0: as long
    /// as it takes.
    double limit = 600;
};

/// See to it that all ranks were given the same, and that none of them finds a `problem` (a
/// sentence; empty: none). Collective; throws `std::invalid_argument` on all ranks otherwise.
void agree(MPI_Comm comm, const Options& options, const std::string& problem);

} // namespace uzushio::compositing
