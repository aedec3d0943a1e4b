#include "stencil/tiling.hpp"

#include <stdexcept>
#include <string>

namespace uzushio::stencil {

namespace {

void check(int ranks, int points, int tiles, const char* name) {
    if (tiles < 1 || tiles > points)
        throw std::invalid_argument(std::string(name) + "_tile is " + std::to_string(tiles) +
                                    "; it must be at least 1, and at most the " +
                                    std::to_string(points) + " points along " + name);
    if (ranks % tiles != 0)
        throw std::invalid_argument(std::string(name) + "_tile is " + std::to_string(tiles) +
                                    ", which does not divide the " + std::to_string(ranks) +
                                    " ranks of the region");
}

/// Return tile `index` of an axis; indices beyond the ends are valid if it is periodic.
Range unwrapped(int points, int tiles, int index, bool periodic) {
    const int periods = (index < 0 ? index - tiles + 1 : index) / tiles;
    if (periods != 0 && !periodic)
        return {};
    const auto range = parallel::block(points, tiles, index - periods * tiles);
    return {range.begin + periods * points, range.end + periods * points};
}

int wrapped(int tiles, int index, bool periodic) {
    if (index >= 0 && index < tiles)
        return index;
    return periodic ? (index % tiles + tiles) % tiles : -1;
}

} // namespace

Tiling::Tiling(MPI_Comm comm, int nx, int ny, int x_tiles, int y_tiles, bool periodic_x,
               bool periodic_y)
    : comm_(parallel::Communicator::duplicate(comm)), nx_(nx), ny_(ny), x_tiles_(x_tiles),
      y_tiles_(y_tiles), periodic_x_(periodic_x), periodic_y_(periodic_y) {
    if (nx < 1 || ny < 1)
        throw std::invalid_argument("the grid has " + std::to_string(nx) + " x " +
                                    std::to_string(ny) + " points; each axis needs at least 1");
    check(comm_.size(), nx, x_tiles, "x");
    check(comm_.size(), ny, y_tiles, "y");
    if (static_cast<long>(x_tiles) * y_tiles != comm_.size())
        throw std::invalid_argument("x_tile x y_tile is " + std::to_string(x_tiles) + " x " +
                                    std::to_string(y_tiles) + ", but the region has " +
                                    std::to_string(comm_.size()) + " ranks; each needs one tile");
    ix_ = comm_.rank() % x_tiles;
    iy_ = comm_.rank() / x_tiles;
    own_ = tile(0, 0);
}

Rect Tiling::tile(int dx, int dy) const {
    return {unwrapped(nx_, x_tiles_, ix_ + dx, periodic_x_),
            unwrapped(ny_, y_tiles_, iy_ + dy, periodic_y_)};
}

int Tiling::neighbour(int dx, int dy) const {
    const int ix = wrapped(x_tiles_, ix_ + dx, periodic_x_);
    const int iy = wrapped(y_tiles_, iy_ + dy, periodic_y_);
    return ix < 0 || iy < 0 ? MPI_PROC_NULL : iy * x_tiles_ + ix;
}

} // namespace uzushio::stencil
