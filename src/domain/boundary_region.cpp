#include "domain/boundary_region.hpp"

#include <algorithm>

#include "domain/beyond.hpp"

namespace uzushio::domain {
namespace {

bool has_connection(const Zone& zone, Face face) {
    return std::any_of(zone.connections.begin(), zone.connections.end(),
                       [&](const Connection& c) { return c.patch.face == face; });
}

/// Edges beyond a face of a higher axis belong to that face's conditions, which are applied later,
/// unless the edge is connected.
Box<3> limits_of(const Mesh& mesh, const Zone& zone, Face face) {
    Box<3> limits{{-unlimited, -unlimited, -unlimited}, {unlimited, unlimited, unlimited}};
    for (std::size_t a = face.axis + 1; a < static_cast<std::size_t>(mesh.dimension()); ++a) {
        if (!has_connection(zone, {a, Side::lower}))
            limits.lower[a] = 0;
        if (!has_connection(zone, {a, Side::upper}))
            limits.upper[a] = zone.cells[a];
    }
    return limits;
}

} // namespace

Box<3> BoundaryRegion::ghosts(int layers, const Stagger& stagger) const {
    Index<3> all = active;
    for (std::int64_t& layer : all)
        layer *= layers;
    Box<3> allowed = limits;
    for (std::size_t a = 0; a < 3; ++a)
        allowed.upper[a] += allowed.upper[a] == unlimited ? 0 : stagger[a];
    const Box<3> stored = staggered(block.cells, stagger).grown(all);
    return intersect(intersect(stored, beyond(patch, zone_cells, stagger)), allowed);
}

std::vector<NamedRegion> boundary_regions(const Decomposition& decomposition, int rank,
                                          int layers) {
    const Mesh& mesh = decomposition.mesh();
    std::vector<NamedRegion> regions;
    std::size_t local = 0;
    for (const int id : decomposition.blocks_of(rank)) {
        const Block& block = decomposition.block(id);
        const Zone& zone = mesh.zone(block.zone);
        for (const BoundaryPatch& b : zone.boundaries) {
            const BoundaryRegion region{block,          local,
                                        b.patch,        zone.cells,
                                        mesh.layers(1), limits_of(mesh, zone, b.patch.face)};
            if (!region.ghosts(layers).empty())
                regions.push_back({b.condition, region});
        }
        ++local;
    }
    std::stable_sort(regions.begin(), regions.end(),
                     [](const NamedRegion& a, const NamedRegion& b) {
                         return a.region.patch.face.axis < b.region.patch.face.axis;
                     });
    return regions;
}

} // namespace uzushio::domain
