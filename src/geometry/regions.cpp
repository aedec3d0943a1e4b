#include "geometry/regions.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "domain/halo_exchange.hpp"
#include "geometry/flood_fill.hpp"

namespace uzushio::geometry {

using domain::Box;
using domain::Index;
using domain::View;

namespace {

constexpr double none = -1;

/// Fluid cells of one block, in parts that paths inside the block join.
class BlockParts {
  public:
    BlockParts(const Box<3>& cells, const Box<3>& mesh, const View<const double>& phase,
               const View<double>& labels, const std::array<CutLinks, 3>& links)
        : cells_(cells), labels_(labels), links_(&links),
          part_(static_cast<std::size_t>(cells.volume()), -1) {
        for_indices(cells, [&](const Index<3>& at) {
            if (phase(at) != fluid || part(at) >= 0)
                return;
            part(at) = static_cast<int>(lowest_.size());
            lowest_.push_back(static_cast<double>(
                (at[2] * mesh.extent(1) + at[1]) * mesh.extent(0) + at[0])); // in ascending order
            spread(at, phase);
        });
    }
    /// Set the labels of the cells to those of their parts.
    void write() const {
        for_indices(cells_, [&](const Index<3>& at) {
            labels_(at) = part(at) < 0 ? none : lowest_[static_cast<std::size_t>(part(at))];
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
                    Index<3> ghost = at;
                    ghost[axis] += step;
                    if (part(at) < 0 || labels_(ghost) < 0 ||
                        (*links_)[axis].find(step > 0 ? at : ghost) != nullptr)
                        return;
                    double& lowest = lowest_[static_cast<std::size_t>(part(at))];
                    any = any || labels_(ghost) < lowest;
                    lowest = std::min(lowest, labels_(ghost));
                });
            }
        }
        return any;
    }
    [[nodiscard]] const std::vector<double>& lowest() const { return lowest_; }

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
    void spread(const Index<3>& first, const View<const double>& phase) {
        std::vector<Index<3>> open{first};
        while (!open.empty()) {
            const Index<3> cell = open.back();
            open.pop_back();
            for (std::size_t axis = 0; axis < 3; ++axis)
                for (const int step : {-1, 1}) {
                    Index<3> to = cell;
                    to[axis] += step;
                    if (!cells_.contains(to) || phase(to) != fluid || part(to) >= 0 ||
                        (*links_)[axis].find(step > 0 ? cell : to) != nullptr)
                        continue;
                    part(to) = part(cell);
                    open.push_back(to);
                }
        }
    }
    Box<3> cells_;
    View<double> labels_;
    const std::array<CutLinks, 3>* links_;
    std::vector<int> part_;      ///< of the cells; -1: solid
    std::vector<double> lowest_; ///< index of the first cell known, of the parts
};

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

Regions find_regions(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
                     const std::vector<std::array<CutLinks, 3>>& links,
                     const domain::Field<double>& phase) {
    const domain::FieldSpec spec{.name = "region", .ghosts = 1};
    Regions found{.numbers = domain::Field<double>(decomposition, rank, spec)};
    const auto mesh = Box<3>::of(decomposition.mesh().zone(0).cells);
    std::vector<BlockParts> blocks;
    for (std::size_t b = 0; b < phase.blocks(); ++b) {
        std::fill_n(found.numbers.view(b).data(), found.numbers.view(b).box().volume(), none);
        blocks.emplace_back(phase.owned(b), mesh, phase.view(b), found.numbers.view(b), links[b]);
    }
    parallel::Traffic uncounted;
    domain::HaloExchange<double> halo(comm, decomposition, {spec}, domain::Reach::faces, uncounted);
    for (int changed = 1; changed != 0;) {
        for (const BlockParts& block : blocks)
            block.write();
        halo.exchange(found.numbers);
        changed = 0;
        for (BlockParts& block : blocks)
            changed = block.take_from_ghosts() || changed != 0 ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, comm);
    }
    std::vector<double> own;
    for (const BlockParts& block : blocks)
        own.insert(own.end(), block.lowest().begin(), block.lowest().end());
    const std::vector<double> all = gathered(comm, own);
    found.count = static_cast<int>(all.size());
    for (std::size_t b = 0; b < phase.blocks(); ++b)
        for_indices(found.numbers.owned(b), [&](const Index<3>& at) {
            double& number = found.numbers.view(b)(at);
            if (number >= 0)
                number = static_cast<double>(std::lower_bound(all.begin(), all.end(), number) -
                                             all.begin());
        });
    halo.exchange(found.numbers);
    return found;
}

} // namespace uzushio::geometry
