#include <metis.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "domain/decomposition.hpp"
#include "domain/halo_plan.hpp"
#include "domain/mesh_error.hpp"
#include "domain/zone_parts.hpp"

namespace uzushio::domain {
namespace {

using Ranks = std::vector<idx_t>; // of blocks

/// Blocks as vertices with their cells, and as edges the cell sides between them (METIS: CSR).
struct Graph {
    std::vector<idx_t> begins{0}, neighbours, sides, cells;
};

/// Cut each zone into its share of `ranks * blocks_a_rank` parts, all assigned to rank 0.
std::vector<Block> cut(const Mesh& mesh, int ranks, int blocks_a_rank) {
    std::vector<Block> blocks;
    const std::int64_t total = mesh.cells();
    for (int zone = 0; zone < static_cast<int>(mesh.zones().size()); ++zone) {
        const std::int64_t cells = Box<3>::of(mesh.zone(zone).cells).volume();
        const std::int64_t wanted = std::min(
            cells, std::max<std::int64_t>(1, (cells * ranks * blocks_a_rank + total - 1) / total));
        // A zone cannot be cut into any number of parts: a prime may exceed its extents.
        std::vector<Box<3>> parts;
        for (auto count = static_cast<int>(wanted); parts.empty(); ++count)
            parts = zone_parts(mesh, zone, count <= 2 * wanted ? count : 1);
        for (const Box<3>& box : parts)
            blocks.push_back({0, zone, 0, box});
    }
    return blocks;
}

Graph graph_of(const Decomposition& whole) {
    const FieldSpec one_layer{"", 1, 1, Centring::cell, Values::plain};
    std::map<std::pair<int, int>, idx_t> sides;
    for (const Block& block : whole.blocks())
        for (const HaloPiece& piece : halo_pieces(whole, block.id, one_layer, Reach::faces))
            if (piece.source_block != block.id)
                sides[{block.id, piece.source_block}] += static_cast<idx_t>(piece.target.volume());
    Graph graph;
    auto edge = sides.begin();
    for (const Block& block : whole.blocks()) {
        for (; edge != sides.end() && edge->first.first == block.id; ++edge) {
            graph.neighbours.push_back(edge->first.second);
            graph.sides.push_back(edge->second);
        }
        graph.begins.push_back(static_cast<idx_t>(graph.neighbours.size()));
        graph.cells.push_back(static_cast<idx_t>(block.cells.volume()));
    }
    return graph;
}

/// Partition with METIS; the seed is fixed, so that all ranks get the same result.
Ranks partition(Graph& graph, int ranks, bool recursive) {
    idx_t vertices = static_cast<idx_t>(graph.cells.size()), constraints = 1, parts = ranks,
          cut = 0;
    Ranks result(graph.cells.size(), 0);
    if (ranks == 1)
        return result;
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    const auto method = recursive ? METIS_PartGraphRecursive : METIS_PartGraphKway;
    if (method(&vertices, &constraints, graph.begins.data(), graph.neighbours.data(),
               graph.cells.data(), nullptr, graph.sides.data(), &parts, nullptr, nullptr, options,
               &cut, result.data()) != METIS_OK)
        result.clear();
    return result;
}

/// Assign blocks in descending order of size, each to the rank with the fewest cells: balanced,
/// with more surface.
Ranks largest_first(const Graph& graph, int ranks) {
    std::vector<std::size_t> order(graph.cells.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return graph.cells[a] > graph.cells[b]; });
    std::vector<std::int64_t> load(static_cast<std::size_t>(ranks));
    Ranks result(graph.cells.size());
    for (const std::size_t block : order) {
        const auto least = std::min_element(load.begin(), load.end());
        *least += graph.cells[block];
        result[block] = static_cast<idx_t>(least - load.begin());
    }
    return result;
}

std::int64_t sides_between(const Graph& graph, const Ranks& ranks) {
    std::int64_t sum = 0;
    for (std::size_t v = 0; v < ranks.size(); ++v)
        for (idx_t e = graph.begins[v]; e < graph.begins[v + 1]; ++e)
            if (ranks[static_cast<std::size_t>(graph.neighbours[static_cast<std::size_t>(e)])] !=
                ranks[v])
                sum += graph.sides[static_cast<std::size_t>(e)];
    return sum;
}

double imbalance_of(const Graph& graph, const Ranks& ranks, int count) {
    std::vector<std::int64_t> load(static_cast<std::size_t>(count));
    for (std::size_t v = 0; v < ranks.size(); ++v)
        load[static_cast<std::size_t>(ranks[v])] += graph.cells[v];
    const auto total = std::accumulate(load.begin(), load.end(), std::int64_t{0});
    return static_cast<double>(*std::max_element(load.begin(), load.end())) * count /
           static_cast<double>(total);
}

/// Return whether each rank has a block. METIS may leave a rank without one.
bool all_have_blocks(const Ranks& ranks, int count) {
    std::vector<bool> has(static_cast<std::size_t>(count));
    for (const idx_t rank : ranks)
        has[static_cast<std::size_t>(rank)] = true;
    return std::find(has.begin(), has.end(), false) == has.end();
}

/// Best assignment so far: if any is balanced, the balanced one with the fewest sides between
/// ranks; otherwise the best balanced one.
struct Best {
    std::vector<Block> blocks;
    double imbalance = 0;
    std::int64_t sides = 0;

    void offer(const std::vector<Block>& cut, const Graph& graph, const Ranks& ranks, int count,
               double bound) {
        if (ranks.size() != cut.size() || !all_have_blocks(ranks, count))
            return;
        const double offered = imbalance_of(graph, ranks, count);
        const std::int64_t between = sides_between(graph, ranks);
        const bool balanced = offered <= bound;
        if (!blocks.empty() && (balanced != (imbalance <= bound) ? !balanced
                                : balanced                       ? between >= sides
                                                                 : offered >= imbalance))
            return;
        blocks = cut;
        for (std::size_t b = 0; b < blocks.size(); ++b)
            blocks[b].rank = static_cast<int>(ranks[b]);
        imbalance = offered;
        sides = between;
    }
};

} // namespace

Decomposition Decomposition::multiblock(std::shared_ptr<const Mesh> mesh, int ranks,
                                        double max_imbalance) {
    if (ranks < 1 || mesh->cells() < ranks)
        throw MeshError("a mesh of " + std::to_string(mesh->cells()) +
                        " cells cannot be shared by " + std::to_string(ranks) + " ranks");
    Best best;
    for (const int blocks_a_rank : {1, 2, 3, 4, 6, 8, 12, 16}) {
        const std::vector<Block> blocks = cut(*mesh, ranks, blocks_a_rank);
        if (static_cast<int>(blocks.size()) < ranks)
            continue;
        Graph graph = graph_of(Decomposition(mesh, blocks, 1));
        best.offer(blocks, graph, partition(graph, ranks, false), ranks, max_imbalance);
        best.offer(blocks, graph, partition(graph, ranks, true), ranks, max_imbalance);
        if (best.blocks.empty() || best.imbalance > max_imbalance)
            best.offer(blocks, graph, largest_first(graph, ranks), ranks, max_imbalance);
        if (!best.blocks.empty() && best.imbalance <= max_imbalance)
            break;
    }
    if (best.blocks.empty())
        throw MeshError("the zones cannot be cut by planes into a block for each of " +
                        std::to_string(ranks) + " ranks");
    return {std::move(mesh), std::move(best.blocks), ranks};
}

} // namespace uzushio::domain
