#pragma once

#include <mpi.h>

#include "parallel/communicator.hpp"
#include "stencil/rect.hpp"

namespace uzushio::stencil {

/// The domain of nx × ny points cut into x_tiles × y_tiles tiles, one a rank; their sides differ by
/// at most one. Ranks go along x first. A direction that is not periodic has edges without flux.
class Tiling {
  public:
    /// Throws `std::invalid_argument`, on all ranks, if the tiles are not as many as the ranks of
    /// `comm`, or more than the points of a direction (collective).
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
    /// The tile `dx` to the right of this rank's and `dy` above it, in unwrapped indices; empty
    /// beyond an edge.
    [[nodiscard]] Rect tile(int dx, int dy) const;
    /// The rank of that tile: this one's own where a periodic direction has one tile, and
    /// MPI_PROC_NULL beyond an edge.
    [[nodiscard]] int neighbour(int dx, int dy) const;

    /// Points along the shortest side, in x or y, of any tile.
    [[nodiscard]] int narrowest_x() const { return nx_ / x_tiles_; }
    [[nodiscard]] int narrowest_y() const { return ny_ / y_tiles_; }
    /// Whether tiles of that direction have any neighbour, be it themselves.
    [[nodiscard]] bool cut_x() const { return x_tiles_ > 1 || periodic_x_; }
    [[nodiscard]] bool cut_y() const { return y_tiles_ > 1 || periodic_y_; }

  private:
    parallel::Communicator comm_;
    int nx_, ny_;
    int x_tiles_, y_tiles_;
    bool periodic_x_, periodic_y_;
    int ix_, iy_;
    Rect own_;
};

} // namespace uzushio::stencil
