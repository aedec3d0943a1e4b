#include "domain/halo_plan.hpp"

#include <algorithm>
#include <map>

#include "domain/ghost_sources.hpp"

namespace uzushio::domain {
namespace {

/// Return the parts of a block's ghost layers beyond 1 to `reach` of its faces.
std::vector<Box<3>> ghost_regions(const Box<3>& own, const Index<3>& layers, Reach reach) {
    std::vector<Box<3>> regions;
    for (int direction = 0; direction < 27; ++direction) {
        const std::array<int, 3> step{direction % 3 - 1, direction / 3 % 3 - 1, direction / 9 - 1};
        Box<3> box = own;
        int outside = 0;
        for (std::size_t a = 0; a < 3; ++a) {
            if (step[a] < 0) {
                box.upper[a] = own.lower[a];
                box.lower[a] = own.lower[a] - layers[a];
            } else if (step[a] > 0) {
                box.lower[a] = own.upper[a];
                box.upper[a] = own.upper[a] + layers[a];
            }
            outside += step[a] != 0 ? 1 : 0;
        }
        if (outside > 0 && outside <= static_cast<int>(reach) && !box.empty())
            regions.push_back(box);
    }
    return regions;
}

/// Return the values that a block provides. Values shared with the next block of its zone are
/// provided by the next one.
Box<3> provided(const Mesh& mesh, const Block& block, const Stagger& stagger) {
    Box<3> box = block.cells;
    for (std::size_t a = 0; a < 3; ++a)
        if (box.upper[a] == mesh.zone(block.zone).cells[a])
            box.upper[a] += stagger[a];
    return box;
}

/// Return the cells on both sides of values.
Box<3> cells_around(Box<3> box, const Stagger& stagger) {
    for (std::size_t a = 0; a < 3; ++a)
        box.lower[a] -= stagger[a];
    return box;
}

} // namespace

std::vector<HaloPiece> halo_pieces(const Decomposition& decomposition, int block,
                                   const FieldSpec& spec, Reach reach) {
    const Mesh& mesh = decomposition.mesh();
    const Block& mine = decomposition.block(block);
    const auto arrays = staggers(spec, mesh.dimension());
    std::vector<HaloPiece> pieces;
    for (std::size_t array = 0; array < arrays.size(); ++array) {
        const Stagger& stagger = arrays[array];
        std::vector<GhostSource> sources;
        for (const Box<3>& region :
             ghost_regions(staggered(mine.cells, stagger), mesh.layers(spec.ghosts), reach))
            static_cast<void>(find_sources(mesh, mine.zone, stagger, region, sources));
        for (const GhostSource& source : sources) {
            const Stagger there = source.map.apply_to_stagger(stagger);
            const Box<3> values = source.map.apply(source.target, stagger);
            const bool faces = spec.centring == Centring::face;
            for (const int id : decomposition.find(source.zone, cells_around(values, there))) {
                const Box<3> part =
                    intersect(values, provided(mesh, decomposition.block(id), there));
                if (part.empty())
                    continue;
                const bool reversed = spec.values == Values::flux && source.map.sign[array] < 0;
                pieces.push_back({static_cast<int>(array), source.map.apply_inverse(part, stagger),
                                  id, faces ? static_cast<int>(source.map.axis[array]) : 0,
                                  source.map, reversed ? -1 : 1, source.translation});
            }
        }
    }
    return pieces;
}

HaloVolume halo_volume(const Decomposition& decomposition, std::span<const FieldSpec> specs,
                       Reach reach, std::size_t value_size) {
    std::map<std::pair<int, int>, std::int64_t> values; // by sender and receiver
    for (const Block& block : decomposition.blocks())
        for (const FieldSpec& spec : specs)
            for (const HaloPiece& piece : halo_pieces(decomposition, block.id, spec, reach)) {
                const int sender = decomposition.block(piece.source_block).rank;
                if (sender != block.rank)
                    values[{sender, block.rank}] += piece.target.volume() * spec.components;
            }
    HaloVolume volume;
    std::map<int, std::int64_t> messages, of_rank;
    for (const auto& [ranks, count] : values) {
        const std::int64_t bytes = count * static_cast<std::int64_t>(value_size);
        volume.messages += 1;
        volume.bytes += bytes;
        volume.max_rank_messages = std::max(volume.max_rank_messages, ++messages[ranks.first]);
        of_rank[ranks.first] += bytes;
        volume.max_rank_bytes = std::max(volume.max_rank_bytes, of_rank[ranks.first]);
    }
    return volume;
}

} // namespace uzushio::domain
