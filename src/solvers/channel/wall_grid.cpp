#include "solvers/channel/wall_grid.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "parallel/max_threads.hpp"
#include "solvers/channel/parameters.hpp"
#include "solvers/channel/partitioned.hpp"

namespace uzushio::channel {

namespace {

void resize(Rows& rows, std::size_t n) {
    for (auto* part : {&rows.lower, &rows.diagonal, &rows.upper, &rows.weight})
        part->assign(n, 0.0);
}

} // namespace

void check(const Parameters& p) {
    const auto fail = [](const std::string& message) { throw std::invalid_argument(message); };
    if (p.nz() < 2)
        fail("the wall-normal grid needs at least 2 cells, not " + std::to_string(p.nz()));
    for (std::size_t k = 0; k + 1 < p.faces.size(); ++k)
        if (!(p.faces[k + 1] > p.faces[k]))
            fail("cell " + std::to_string(k) + " of the wall-normal grid has the height " +
                 std::to_string(p.faces[k + 1] - p.faces[k]) + "; every height must be positive");
    if (!(p.lx > 0 && p.ly > 0 && p.viscosity > 0))
        fail("the lengths of the box and the viscosity must be positive");
    if (p.threads < 1 || p.threads > parallel::max_threads)
        fail("a rank can have 1 to " + std::to_string(parallel::max_threads) + " threads, not " +
             std::to_string(p.threads));
    const auto modes = Modes::of(p.nx, p.ny, p.dealiasing);
    if (p.py > modes.kx || p.py > modes.my || p.pz > p.nz())
        fail("a process grid of " + std::to_string(p.py) + " x " + std::to_string(p.pz) +
             " is too fine: it needs py <= " + std::to_string(modes.kx) +
             " (modes in x) and pz <= " + std::to_string(p.nz()) + " (cells in z)");
    // MPI's counts are of type int: the columns and planes of an all-to-all must not exceed it.
    const auto share = [](std::int64_t n, int parts) { return (n + parts - 1) / parts; };
    const std::int64_t local = share(modes.kx, p.py) * modes.columns_y();
    const std::int64_t doubles =
        2 * std::max((share(p.nz(), p.pz) + 1) * local, 9 * share(modes.my, p.py) * modes.kx);
    if (local > std::numeric_limits<int>::max())
        fail("a rank would hold more than 2^31 modes of a plane; use more ranks");
    if ((p.py > 1 || p.pz > 1) && doubles > std::numeric_limits<int>::max())
        fail("a rank would hold more than the 2^31 values of a field that MPI can count; "
             "use more ranks");
    if (p.pz > 1 && p.scheme == "partitioned" &&
        Partitioned::max_count(2, 2 * p.pz, local, share(local, p.pz), max_values) >
            std::numeric_limits<int>::max())
        fail("a rank would hold " + std::to_string(local) +
             " modes of a plane, and MPI can count the messages of scheme: partitioned for " +
             "70 million; use more ranks, or scheme: transpose or pipelined");
}

WallGrid::WallGrid(std::span<const double> faces) : faces_(faces.begin(), faces.end()) {
    const std::size_t n = faces_.size() - 1;
    for (std::size_t k = 0; k < n; ++k) {
        centres_.push_back(0.5 * (faces_[k] + faces_[k + 1]));
        height_.push_back(faces_[k + 1] - faces_[k]);
    }
    distance_.push_back(centres_.front() - faces_.front());
    for (std::size_t k = 0; k + 1 < n; ++k)
        distance_.push_back(centres_[k + 1] - centres_[k]);
    distance_.push_back(faces_.back() - centres_.back());

    for (auto* rows : {&at_centres_, &at_faces_, &pressure_})
        resize(*rows, n);
    for (std::size_t k = 0; k < n; ++k) {
        const double below = 1.0 / (height_[k] * distance_[k]);
        const double above = 1.0 / (height_[k] * distance_[k + 1]);
        const bool first = k == 0;
        const bool last = k + 1 == n;
        at_centres_.diagonal[k] = -(below + above);
        at_centres_.weight[k] = pressure_.weight[k] = -1.0;
        at_centres_.lower[k] = pressure_.lower[k] = first ? 0.0 : below;
        at_centres_.upper[k] = pressure_.upper[k] = last ? 0.0 : above;
        pressure_.diagonal[k] = -(pressure_.lower[k] + pressure_.upper[k]);
        if (last)
            continue; // upper wall, where w is zero
        const double down = 1.0 / (distance_[k + 1] * height_[k]);
        const double up = 1.0 / (distance_[k + 1] * height_[k + 1]);
        at_faces_.lower[k] = first ? 0.0 : down;
        at_faces_.upper[k] = k + 2 == n ? 0.0 : up;
        at_faces_.diagonal[k] = -(down + up);
        at_faces_.weight[k] = -1.0;
    }
}

void helmholtz(const Rows& d, double a, Rows& rows) {
    resize(rows, d.diagonal.size());
    for (std::size_t k = 0; k < d.diagonal.size(); ++k) {
        rows.lower[k] = -a * d.lower[k];
        rows.upper[k] = -a * d.upper[k];
        rows.diagonal[k] = 1.0 - a * d.diagonal[k];
        rows.weight[k] = -a * d.weight[k];
    }
}

} // namespace uzushio::channel
