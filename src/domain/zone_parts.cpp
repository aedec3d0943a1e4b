#include "domain/zone_parts.hpp"

#include "domain/process_counts.hpp"
#include "parallel/block.hpp"

namespace uzushio::domain {
namespace {

/// Return the axes whose lower face is connected to the zone's own upper face.
std::array<bool, 3> periodic_axes(const Mesh& mesh, int zone) {
    std::array<bool, 3> periodic{};
    for (const Connection& c : mesh.zone(zone).connections)
        if (c.donor == mesh.zone(zone).name && c.patch.face.axis == c.donor_patch.face.axis &&
            c.patch.face.side != c.donor_patch.face.side)
            periodic[c.patch.face.axis] = true;
    return periodic;
}

} // namespace

std::vector<Box<3>> zone_parts(const Mesh& mesh, int zone, int parts) {
    const Index<3>& cells = mesh.zone(zone).cells;
    const PartCounts counts = min_surface_counts(cells, parts, periodic_axes(mesh, zone));
    std::vector<Box<3>> boxes;
    for (int k = 0; k < counts[2]; ++k)
        for (int j = 0; j < counts[1]; ++j)
            for (int i = 0; i < counts[0]; ++i) {
                Box<3> box;
                const PartCounts place{i, j, k};
                for (std::size_t a = 0; a < 3; ++a) {
                    const auto range =
                        parallel::block(static_cast<int>(cells[a]), counts[a], place[a]);
                    box.lower[a] = range.begin;
                    box.upper[a] = range.end;
                }
                boxes.push_back(box);
            }
    return boxes;
}

} // namespace uzushio::domain
