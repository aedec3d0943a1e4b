#include "geometry/regions.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <stdexcept>

#include "domain/halo_exchange.hpp"

namespace uzushio::geometry {

using domain::Box;
using domain::Index;
using domain::moved;
using domain::Vector;
using domain::View;

namespace {

constexpr double none = -1;

/// Cells of one block, in parts that paths inside the block join. The label of a part is the index
/// in the mesh of the first cell that paths are known to join to it.
class BlockParts {
  public:
    BlockParts(const Box<3>& cells, const Box<3>& mesh, const View<double>& labels,
               const std::array<CutLinks, 3>& links)
        : cells_(cells), labels_(labels), links_(&links),
          part_(static_cast<std::size_t>(cells.volume()), -1) {
        for_indices(cells, [&](const Index<3>& at) {
            if (part(at) >= 0)
                return;
            part(at) = static_cast<int>(lowest_.size());
            lowest_.push_back(static_cast<double>(
                (at[2] * mesh.extent(1) + at[1]) * mesh.extent(0) + at[0])); // in ascending order
            spread(at);
        });
        is_fluid_.resize(lowest_.size());
    }
    /// Make the part of a cell fluid, if the cell is in the block.
    void add_fluid(const Index<3>& cell) {
        if (cells_.contains(cell))
            is_fluid_[static_cast<std::size_t>(part(cell))] = true;
    }
    /// Set the labels of the cells to those of their parts.
    void write() const {
        for_indices(cells_, [&](const Index<3>& at) {
            labels_(at) = lowest_[static_cast<std::size_t>(part(at))];
        });
    }
    /// Take lower labels from ghosts; return whether there were any.
    bool take_from_ghosts() {
        bool any = false;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (cells_.extent(axis) == labels_.box().extent(axis))
                continue; // no ghosts
            for (const int step : {-1, 1}) {
                Box<3> layer = cells_;
                if (step < 0)
                    layer.upper[axis] = layer.lower[axis] + 1;
                else
                    layer.lower[axis] = layer.upper[axis] - 1;
                for_indices(layer, [&](const Index<3>& at) {
                    const double label = labels_(moved(at, axis, step));
                    double& lowest = lowest_[static_cast<std::size_t>(part(at))];
                    if (label == none || label >= lowest || is_cut(at, axis, step))
                        return;
                    lowest = label;
                    any = true;
                });
            }
        }
        return any;
    }
    /// Append the labels of the fluid parts.
    void append_fluid(std::vector<double>& labels) const {
        for (std::size_t part = 0; part < lowest_.size(); ++part)
            if (is_fluid_[part])
                labels.push_back(lowest_[part]);
    }

  private:
    [[nodiscard]] std::size_t offset(const Index<3>& at) const {
        return static_cast<std::size_t>(
            ((at[2] - cells_.lower[2]) * cells_.extent(1) + at[1] - cells_.lower[1]) *
                cells_.extent(0) +
            at[0] - cells_.lower[0]);
    }
    [[nodiscard]] int& part(const Index<3>& at) { return part_[offset(at)]; }
    [[nodiscard]] int part(const Index<3>& at) const { return part_[offset(at)]; }
    [[nodiscard]] bool is_cut(const Index<3>& at, std::size_t axis, int step) const {
        return (*links_)[axis].find(step > 0 ? at : moved(at, axis, -1)) != nullptr;
    }
    /// Give the part of a cell to all cells that paths join to it.
    void spread(const Index<3>& first) {
        std::vector<Index<3>> open{first};
        while (!open.empty()) {
            const Index<3> cell = open.back();
            open.pop_back();
            for (std::size_t axis = 0; axis < 3; ++axis)
                for (const int step : {-1, 1}) {
                    const Index<3> to = moved(cell, axis, step);
                    if (!cells_.contains(to) || part(to) >= 0 || is_cut(cell, axis, step))
                        continue;
                    part(to) = part(cell);
                    open.push_back(to);
                }
        }
    }
    Box<3> cells_;
    View<double> labels_;
    const std::array<CutLinks, 3>* links_;
    std::vector<int> part_;      ///< of the cells
    std::vector<double> lowest_; ///< labels of the parts
    std::vector<bool> is_fluid_; ///< of the parts
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

/// Return all values of all ranks, ascending, each once.
std::vector<double> gathered(MPI_Comm comm, const std::vector<double>& own) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    const int count = static_cast<int>(own.size());
    std::vector<int> counts(static_cast<std::size_t>(size)), starts(counts.size());
    MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
    for (std::size_t rank = 1; rank < counts.size(); ++rank)
        starts[rank] = starts[rank - 1] + counts[rank - 1];
    std::vector<double> all(static_cast<std::size_t>(starts.back() + counts.back()));
    MPI_Allgatherv(own.data(), count, MPI_DOUBLE, all.data(), counts.data(), starts.data(),
                   MPI_DOUBLE, comm);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

} // namespace

int find_regions(MPI_Comm comm, const domain::Decomposition& decomposition,
                 const std::vector<std::array<CutLinks, 3>>& links,
                 const std::vector<std::shared_ptr<const Surface>>& bodies,
                 const std::vector<Vector>& seeds, domain::Field<double>& numbers) {
    const domain::Mesh& mesh = decomposition.mesh();
    const domain::Zone& zone = mesh.zone(0);
    std::vector<Index<3>> seed_cells;
    for (const Vector& seed : seeds)
        seed_cells.push_back(cell_around(mesh, seed));
    std::vector<BlockParts> blocks;
    for (std::size_t b = 0; b < numbers.blocks(); ++b) {
        const View<double> labels = numbers.view(b);
        std::fill_n(labels.data(), labels.box().volume(), none);
        BlockParts& block =
            blocks.emplace_back(numbers.owned(b), Box<3>::of(zone.cells), labels, links[b]);
        for (const Index<3>& cell : seed_cells)
            block.add_fluid(cell);
        if (seeds.empty())
            for (const Box<3>& layer : first_cells(zone, numbers.owned(b)))
                for_indices(layer, [&](const Index<3>& cell) {
                    if (is_outside(zone.coordinates.centre(cell), mesh.dimension(), bodies))
                        block.add_fluid(cell);
                });
    }
    parallel::Traffic uncounted;
    domain::HaloExchange<double> halo(comm, decomposition, {numbers.spec()}, domain::Reach::edges,
                                      uncounted);
    for (int changed = 1; changed != 0;) {
        for (const BlockParts& block : blocks)
            block.write();
        halo.exchange(numbers);
        changed = 0;
        for (BlockParts& block : blocks)
            changed = block.take_from_ghosts() || changed != 0 ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, comm);
    }
    std::vector<double> own;
    for (const BlockParts& block : blocks)
        block.append_fluid(own);
    const std::vector<double> fluid = gathered(comm, own);
    if (fluid.empty())
        throw std::invalid_argument("the bodies leave no fluid: give a seed, a point in the fluid");
    for (std::size_t b = 0; b < numbers.blocks(); ++b)
        for_indices(numbers.owned(b), [&](const Index<3>& at) {
            double& number = numbers.view(b)(at);
            const auto found = std::lower_bound(fluid.begin(), fluid.end(), number);
            number = found != fluid.end() && *found == number
                         ? static_cast<double>(found - fluid.begin())
                         : none;
        });
    halo.exchange(numbers);
    return static_cast<int>(fluid.size());
}

} // namespace uzushio::geometry
