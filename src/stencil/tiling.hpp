#pragma once

#include <mpi.h>

#include "parallel/communicator.hpp"
#include "stencil/rect.hpp"

namespace uzushio::stencil {

/// Decomposition of nx × ny points into x_tiles × y_tiles tiles, one per rank, whose extents differ
/// by at most one. Ranks are numbered along x first. An axis that is not periodic has zero-flux
/// edges.
class Tiling {
  public:
    /// Throw `std::invalid_argument`, on all ranks, if the number of tiles is not the number of
    /// ranks of `comm`, or exceeds the points of an axis (collective).
    Tiling(MPI_Comm comm, int nx, int ny, int x_tiles, int y_tiles, bool periodic_x,
           bool periodic_y);

    [[nodiscard]] const parallel::Communicator& comm() const { return comm_; }
    [[nodiscard]] int nx() const { return nx_; }
    [[nodiscard]] int ny() const { return ny_; }
    [[nodiscard]] int x_tiles() const { return x_tiles_; }
    [[nodiscard]] int y_tiles() const { return y_tiles_; }
    [[nodiscard]] bool periodic_x() const { return periodic_x_; }
    [[nodiscard]] bool periodic_y() const { return periodic_y_; }

    /// This rank's tile.
    [[nodiscard]] const Rect& own() const { return own_; }
    /// Return the tile `dx` to the right of this rank's and `dy` above it, in unwrapped indices;
    /// empty beyond an edge.
    [[nodiscard]] Rect tile(int dx, int dy) const;
    /// Return the rank of that tile: this rank if a periodic axis has one tile, MPI_PROC_NULL
    /// beyond an edge.
    [[nodiscard]] int neighbour(int dx, int dy) const;

    /// Minimum extent of the tiles along x or y.
    [[nodiscard]] int min_extent_x() const { return nx_ / x_tiles_; }
    [[nodiscard]] int min_extent_y() const { return ny_ / y_tiles_; }
    /// Whether tiles have neighbours along that axis (a tile of a periodic axis may be its own).
    [[nodiscard]] bool has_neighbours_x() const { return x_tiles_ > 1 || periodic_x_; }
    [[nodiscard]] bool has_neighbours_y() const { return y_tiles_ > 1 || periodic_y_; }

  private:
    parallel::Communicator comm_;
    int nx_, ny_;
    int x_tiles_, y_tiles_;
    bool periodic_x_, periodic_y_;
    int ix_, iy_;
    Rect own_;
};

} // namespace uzushio::stencil
