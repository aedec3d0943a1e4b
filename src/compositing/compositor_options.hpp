#pragma once

#include <mpi.h>

#include <limits>
#include <string>

#include "compositing/pixel.hpp"

namespace uzushio::compositing {

/// Options of a compositor, the same on all ranks.
struct CompositorOptions {
    int width = 0;
    int height = 0;
    ImageFormat format = ImageFormat::rgba8;
    /// One of `algorithms()`, `hybrid(ALGORITHM)` or `auto`.
    std::string algorithm = "radix_k";
    int root = 0;       ///< rank that receives the picture
    bool gather = true; ///< else each rank keeps the tile that it composited
    /// Pixels of a block that stays together when the image is interlaced, which balances the
    /// numbers of active pixels of the ranks; 0: not interlaced.
    int interlace = 0;
    int frames = 2;                                     ///< maximum number of pictures in flight
    float far = std::numeric_limits<float>::infinity(); ///< depth of the background
    int fan_in = 16; ///< maximum number of messages that a rank gathers at a time
    /// Maximum number of ranks that `hybrid` treats as a node; 0: all ranks that share memory.
    int ranks_per_node = 0;
    /// Timeout in seconds of one call, including the other ranks' drawing; 0: unlimited.
    double limit = 600;
};

/// Throw `std::invalid_argument` on all ranks if any rank has a `problem` (empty: none), options
/// that are not valid, or options that differ from those of rank 0 (collective).
void agree_on_options(MPI_Comm comm, const CompositorOptions& options,
                      const std::string& problem = "");

} // namespace uzushio::compositing
