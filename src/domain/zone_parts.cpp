#include "domain/zone_parts.hpp"

#include "domain/process_counts.hpp"

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
    for (int number = 0; number < counts[0] * counts[1] * counts[2]; ++number)
        boxes.push_back(part_box(Box<3>::of(cells), counts, number));
    return boxes;
}

bool are_slabs_cheaper(const Mesh& mesh, std::size_t axis, int ranks, int layers) {
    const Index<3>& cells = mesh.zone(0).cells;
    if (ranks == 1 || cells[axis] < ranks)
        return false;
    const auto periodic = periodic_axes(mesh, 0);
    const PartCounts counts = min_surface_counts(cells, ranks, periodic);
    if (counts == PartCounts{})
        return true;
    PartCounts slabs{1, 1, 1};
    slabs[axis] = ranks;
    const std::int64_t more =
        surface_between(cells, slabs, periodic) - surface_between(cells, counts, periodic);
    const std::int64_t moved = 2 * Box<3>::of(cells).volume() * (ranks - 1) / ranks;
    return 2 * layers * more <= moved;
}

} // namespace uzushio::domain
