#include "geometry/flood_fill.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "domain/halo_exchange.hpp"

namespace uzushio::geometry {

using domain::Box;
using domain::Index;
using domain::Vector;

namespace {

/// Fill of the cells of one block.
class BlockFill {
  public:
    BlockFill(const Box<3>& cells, domain::View<double> phase, const std::array<CutLinks, 3>& links)
        : cells_(cells), phase_(phase), links_(links) {}

    /// Make a cell fluid.
    void add(const Index<3>& cell) {
        if (!cells_.contains(cell) || phase_(cell) == fluid)
            return;
        phase_(cell) = fluid;
        open_.push_back(cell);
    }
    /// Make the cells beside fluid ghosts fluid.
    void add_from_ghosts() {
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (cells_.extent(axis) == phase_.box().extent(axis))
                continue; // no ghosts
            for (const int step : {-1, 1}) {
                Box<3> ghosts = cells_; // those outside the side
                ghosts.lower[axis] = step < 0 ? cells_.lower[axis] - 1 : cells_.upper[axis];
                ghosts.upper[axis] = ghosts.lower[axis] + 1;
                for_indices(ghosts, [&](const Index<3>& ghost) {
                    if (phase_(ghost) == fluid)
                        follow(ghost, axis, -step);
                });
            }
        }
    }
    /// Follow all paths from the cells that became fluid; return whether there were any.
    bool spread() {
        const bool any = !open_.empty();
        while (!open_.empty()) {
            const Index<3> cell = open_.back();
            open_.pop_back();
            for (std::size_t axis = 0; axis < 3; ++axis)
                for (const int step : {-1, 1})
                    follow(cell, axis, step);
        }
        return any;
    }

  private:
    void follow(const Index<3>& from, std::size_t axis, int step) {
        Index<3> to = from;
        to[axis] += step;
        if (cells_.contains(to) && phase_(to) != fluid &&
            links_[axis].find(step > 0 ? from : to) == nullptr)
            add(to);
    }
    Box<3> cells_;
    domain::View<double> phase_;
    const std::array<CutLinks, 3>& links_;
    std::vector<Index<3>> open_; ///< cells whose neighbours are to be visited
};

/// Return the cell of the mesh that contains a point. Throws `std::invalid_argument` if none does.
Index<3> cell_around(const domain::Mesh& mesh, const Vector& point) {
    const domain::Zone& zone = mesh.zone(0);
    Index<3> cell{};
    for (std::size_t a = 0; a < static_cast<std::size_t>(mesh.dimension()); ++a) {
        const auto vertex = [&](std::int64_t i) {
            Index<3> at{};
            at[a] = i;
            return zone.coordinates.vertex(at)[a];
        };
        if (!(vertex(0) <= point[a] && point[a] <= vertex(zone.cells[a]))) {
            std::ostringstream text;
            text << "the seed (" << point[0] << ", " << point[1] << ", " << point[2]
                 << ") is outside the mesh: give a point in the fluid";
            throw std::invalid_argument(text.str());
        }
        while (cell[a] + 1 < zone.cells[a] && vertex(cell[a] + 1) <= point[a])
            ++cell[a];
    }
    return cell;
}

/// Return whether the centre of a cell is outside the bounds of all bodies.
bool is_outside(const Vector& centre, int dimension,
                const std::vector<std::shared_ptr<const Surface>>& bodies) {
    return std::none_of(bodies.begin(), bodies.end(), [&](const auto& body) {
        const Bounds bounds = body->bounds();
        for (std::size_t a = 0; a < static_cast<std::size_t>(dimension); ++a)
            if (centre[a] < bounds.lower[a] || bounds.upper[a] < centre[a])
                return false;
        return true;
    });
}

/// Return the cells of a block at boundaries of the mesh; all if the mesh has none.
std::vector<Box<3>> first_cells(const domain::Zone& zone, const Box<3>& cells) {
    if (zone.boundaries.empty())
        return {cells};
    std::vector<Box<3>> found;
    for (const domain::BoundaryPatch& boundary : zone.boundaries)
        found.push_back(intersect(boundary.patch.layer(Box<3>::of(zone.cells)), cells));
    return found;
}

} // namespace

void flood_fill(MPI_Comm comm, const domain::Decomposition& decomposition,
                const std::vector<std::array<CutLinks, 3>>& links,
                const std::vector<std::shared_ptr<const Surface>>& bodies,
                const std::vector<Vector>& seeds, domain::Field<double>& phase) {
    const domain::Mesh& mesh = decomposition.mesh();
    const domain::Zone& zone = mesh.zone(0);
    std::vector<Index<3>> seed_cells;
    for (const Vector& seed : seeds)
        seed_cells.push_back(cell_around(mesh, seed));
    std::vector<BlockFill> fills;
    for (std::size_t b = 0; b < phase.blocks(); ++b) {
        std::fill_n(phase.view(b).data(), phase.view(b).box().volume(), solid);
        fills.emplace_back(phase.owned(b), phase.view(b), links[b]);
        for (const Index<3>& cell : seed_cells)
            fills.back().add(cell);
        if (seeds.empty())
            for (const Box<3>& layer : first_cells(zone, phase.owned(b)))
                for_indices(layer, [&](const Index<3>& cell) {
                    if (is_outside(zone.coordinates.centre(cell), mesh.dimension(), bodies))
                        fills.back().add(cell);
                });
    }
    parallel::Traffic uncounted;
    domain::HaloExchange<double> halo(comm, decomposition, {phase.spec()}, domain::Reach::edges,
                                      uncounted);
    int changed = 1, any = 0;
    while (changed != 0) {
        changed = 0;
        for (BlockFill& fill : fills)
            changed = fill.spread() || changed != 0 ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, comm);
        any = std::max(any, changed);
        halo.exchange(phase);
        for (BlockFill& fill : fills)
            fill.add_from_ghosts();
    }
    if (any == 0)
        throw std::invalid_argument("the bodies leave no fluid: give a seed, a point in the fluid");
}

} // namespace uzushio::geometry
