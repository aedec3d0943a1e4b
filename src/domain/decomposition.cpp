#include "domain/decomposition.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "domain/box_set.hpp"
#include "domain/mesh_error.hpp"
#include "domain/process_counts.hpp"
#include "domain/zone_parts.hpp"

namespace uzushio::domain {

Decomposition::Decomposition(std::shared_ptr<const Mesh> mesh, std::vector<Block> blocks, int ranks)
    : mesh_(std::move(mesh)), blocks_(std::move(blocks)) {
    if (ranks < 1)
        throw MeshError("a decomposition has at least one rank, not " + std::to_string(ranks));
    of_rank_.resize(static_cast<std::size_t>(ranks));
    of_zone_.resize(mesh_->zones().size());
    std::vector<std::vector<Box<3>>> boxes(of_zone_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        Block& block = blocks_[i];
        block.id = static_cast<int>(i);
        if (block.rank < 0 || block.rank >= ranks || block.zone < 0 ||
            block.zone >= static_cast<int>(of_zone_.size()))
            throw MeshError("block " + std::to_string(i) + " is on rank " +
                            std::to_string(block.rank) + " of " + std::to_string(ranks) +
                            " and in zone " + std::to_string(block.zone) + " of " +
                            std::to_string(of_zone_.size()));
        of_rank_[static_cast<std::size_t>(block.rank)].push_back(block.id);
        of_zone_[static_cast<std::size_t>(block.zone)].ids.push_back(block.id);
        boxes[static_cast<std::size_t>(block.zone)].push_back(block.cells);
    }
    for (std::size_t z = 0; z < of_zone_.size(); ++z)
        of_zone_[z].index = BoxIndex<3>(boxes[z]);
    check_coverage();
}

void Decomposition::check_coverage() const {
    for (std::size_t z = 0; z < of_zone_.size(); ++z) {
        const Zone& zone = mesh_->zones()[z];
        const auto all = Box<3>::of(zone.cells);
        std::int64_t cells = 0;
        for (const int id : of_zone_[z].ids) {
            const Block& current = block(id);
            const std::string where = "zone '" + zone.name + "', block " + std::to_string(id) +
                                      " of cells " + to_string(current.cells);
            if (current.cells.empty() || !all.contains(current.cells))
                throw MeshError(where + ": it must have cells and lie within the zone");
            for (const int other : find(static_cast<int>(z), current.cells))
                if (other != id)
                    throw MeshError(where + ": block " + std::to_string(other) +
                                    " holds some of them too");
            cells += current.cells.volume();
        }
        if (cells == all.volume())
            continue;
        BoxSet<3> open{all};
        for (const int id : of_zone_[z].ids)
            subtract(open, block(id).cells);
        throw MeshError("zone '" + zone.name + "': no block holds cells " +
                        to_string(open.front()));
    }
}

std::vector<int> Decomposition::find(int zone, const Box<3>& cells) const {
    const OfZone& here = of_zone_[static_cast<std::size_t>(zone)];
    std::vector<int> ids;
    for (const std::uint32_t i : here.index.find(cells))
        ids.push_back(here.ids[i]);
    return ids;
}

double Decomposition::imbalance() const {
    std::int64_t largest = 0;
    for (const auto& ids : of_rank_) {
        std::int64_t cells = 0;
        for (const int id : ids)
            cells += block(id).cells.volume();
        largest = std::max(largest, cells);
    }
    return static_cast<double>(largest) * ranks() / static_cast<double>(mesh_->cells());
}

Decomposition Decomposition::cartesian(std::shared_ptr<const Mesh> mesh, int ranks) {
    if (mesh->zones().size() != 1)
        throw MeshError("a Cartesian decomposition is of one zone; the mesh has " +
                        std::to_string(mesh->zones().size()));
    std::vector<Block> blocks;
    for (const Box<3>& cells : zone_parts(*mesh, 0, ranks))
        blocks.push_back({0, 0, static_cast<int>(blocks.size()), cells});
    if (static_cast<int>(blocks.size()) != ranks)
        throw MeshError("zone '" + mesh->zone(0).name + "': its cells " +
                        to_string(Box<3>::of(mesh->zone(0).cells)) + " cannot be cut into " +
                        std::to_string(ranks) + " boxes, one for each rank, by planes");
    return {std::move(mesh), std::move(blocks), ranks};
}

Decomposition Decomposition::cartesian(std::shared_ptr<const Mesh> mesh, const PartCounts& counts) {
    const Box<3> all = Box<3>::of(mesh->zone(0).cells);
    bool fits = mesh->zones().size() == 1;
    for (std::size_t axis = 0; axis < 3; ++axis)
        fits = fits && counts[axis] > 0 && counts[axis] <= all.extents()[axis];
    if (!fits)
        throw MeshError("one zone of " + to_string(all) + " cannot be cut into " +
                        std::to_string(counts[0]) + " x " + std::to_string(counts[1]) + " x " +
                        std::to_string(counts[2]) + " blocks");
    const int ranks = counts[0] * counts[1] * counts[2];
    std::vector<Block> blocks;
    for (int rank = 0; rank < ranks; ++rank)
        blocks.push_back({0, 0, rank, part_box(all, counts, rank)});
    return {std::move(mesh), std::move(blocks), ranks};
}

} // namespace uzushio::domain
