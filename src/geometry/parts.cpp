#include "geometry/parts.hpp"

#include <algorithm>
#include <cstdint>

#include "domain/halo_exchange.hpp"

namespace uzushio::geometry {

using domain::Box;
using domain::Index;
using domain::moved;
using domain::View;

namespace {

constexpr double none = -1;

/// Cells of one block, in parts that paths inside the block join. The label of a part is the index
/// in the mesh of the first cell that paths are known to join to it.
class BlockParts {
  public:
    BlockParts(const Box<3>& cells, const Box<3>& mesh, const View<double>& labels,
               std::size_t block, const Joined& joined)
        : cells_(cells), labels_(labels), block_(block), joined_(&joined),
          part_(static_cast<std::size_t>(cells.volume()), -1) {
        for_indices(cells, [&](const Index<3>& at) {
            if (part(at) >= 0)
                return;
            part(at) = static_cast<int>(lowest_.size());
            lowest_.push_back(static_cast<double>(
                (at[2] * mesh.extent(1) + at[1]) * mesh.extent(0) + at[0])); // in ascending order
            spread(at);
        });
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
                    if (label == none || label >= lowest || !(*joined_)(block_, at, axis, step))
                        return;
                    lowest = label;
                    any = true;
                });
            }
        }
        return any;
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
    /// Give the part of a cell to all cells that paths join to it.
    void spread(const Index<3>& first) {
        std::vector<Index<3>> open{first};
        while (!open.empty()) {
            const Index<3> cell = open.back();
            open.pop_back();
            for (std::size_t axis = 0; axis < 3; ++axis)
                for (const int step : {-1, 1}) {
                    const Index<3> to = moved(cell, axis, step);
                    if (!cells_.contains(to) || part(to) >= 0 ||
                        !(*joined_)(block_, cell, axis, step))
                        continue;
                    part(to) = part(cell);
                    open.push_back(to);
                }
        }
    }
    Box<3> cells_;
    View<double> labels_;
    std::size_t block_;
    const Joined* joined_;
    std::vector<int> part_;      ///< of the cells
    std::vector<double> lowest_; ///< labels of the parts
};

} // namespace

void label_parts(MPI_Comm comm, const domain::Decomposition& decomposition, const Joined& joined,
                 domain::Field<double>& labels) {
    const Box<3> mesh = Box<3>::of(decomposition.mesh().zone(0).cells);
    std::vector<BlockParts> blocks;
    for (std::size_t b = 0; b < labels.blocks(); ++b) {
        const View<double> view = labels.view(b);
        std::fill_n(view.data(), view.box().volume(), none);
        blocks.emplace_back(labels.owned(b), mesh, view, b, joined);
    }
    parallel::Traffic uncounted;
    domain::HaloExchange<double> halo(comm, decomposition, {labels.spec()}, domain::Reach::edges,
                                      uncounted);
    for (int changed = 1; changed != 0;) {
        for (const BlockParts& block : blocks)
            block.write();
        halo.exchange(labels);
        changed = 0;
        for (BlockParts& block : blocks)
            changed = block.take_from_ghosts() || changed != 0 ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, comm);
    }
}

std::vector<double> distinct_values(MPI_Comm comm, const std::vector<double>& own) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    std::vector<double> mine = own;
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    const int count = static_cast<int>(mine.size());
    std::vector<int> counts(static_cast<std::size_t>(size)), starts(counts.size());
    MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
    for (std::size_t rank = 1; rank < counts.size(); ++rank)
        starts[rank] = starts[rank - 1] + counts[rank - 1];
    std::vector<double> all(static_cast<std::size_t>(starts.back() + counts.back()));
    MPI_Allgatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), starts.data(),
                   MPI_DOUBLE, comm);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

} // namespace uzushio::geometry
