#pragma once

#include <memory>
#include <span>
#include <vector>

#include "domain/block.hpp"
#include "domain/box_index.hpp"
#include "domain/mesh.hpp"
#include "domain/process_counts.hpp"

namespace uzushio::domain {

/// Assignment of the blocks of a mesh to ranks: zero or more blocks per rank. The same on all
/// ranks.
class Decomposition {
  public:
    /// Use the caller's blocks, and set their ids. Throws `MeshError` unless they cover each zone
    /// exactly once, on ranks from 0 to `ranks - 1`.
    Decomposition(std::shared_ptr<const Mesh> mesh, std::vector<Block> blocks, int ranks);

    /// Cut one zone into one block per rank, with the minimum surface between ranks. Throws
    /// `MeshError` if the mesh has several zones, or a rank would have no cell.
    static Decomposition cartesian(std::shared_ptr<const Mesh> mesh, int ranks);
    /// The same with `counts[a]` blocks along each axis, i fastest.
    static Decomposition cartesian(std::shared_ptr<const Mesh> mesh, const PartCounts& counts);

    /// Cut the zones of any mesh, and assign the blocks by METIS with few cell sides between ranks.
    /// Zones are cut more finely until the largest share of a rank is at most `max_imbalance` times
    /// the mean; if that is not reached, the best result is returned. Each rank has a block. Throws
    /// `MeshError` if there are fewer cells than ranks.
    static Decomposition multiblock(std::shared_ptr<const Mesh> mesh, int ranks,
                                    double max_imbalance = 1.05);

    [[nodiscard]] const Mesh& mesh() const { return *mesh_; }
    [[nodiscard]] int ranks() const { return static_cast<int>(of_rank_.size()); }
    [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
    [[nodiscard]] const Block& block(int id) const { return blocks_[static_cast<std::size_t>(id)]; }
    /// Return the ids of a rank's blocks, ascending.
    [[nodiscard]] std::span<const int> blocks_of(int rank) const {
        return of_rank_[static_cast<std::size_t>(rank)];
    }
    /// Return the ids of the blocks of a zone that contain any of these cells, ascending.
    [[nodiscard]] std::vector<int> find(int zone, const Box<3>& cells) const;

    /// Return the maximum number of cells of a rank over the mean.
    [[nodiscard]] double imbalance() const;

  private:
    struct OfZone {
        std::vector<int> ids;
        BoxIndex<3> index;
    };
    void check_coverage() const;

    std::shared_ptr<const Mesh> mesh_;
    std::vector<Block> blocks_;
    std::vector<std::vector<int>> of_rank_;
    std::vector<OfZone> of_zone_;
};

} // namespace uzushio::domain
