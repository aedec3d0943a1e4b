#include "domain/positions.hpp"

#include <stdexcept>
#include <utility>

#include "domain/boundary_region.hpp"

namespace uzushio::domain {
namespace {

/// Return the centre of the cell side on a boundary, below or above a cell along an axis.
Vector side_centre(const Coordinates& coordinates, Index<3> vertex, std::size_t axis) {
    const std::size_t a = (axis + 1) % 3, b = (axis + 2) % 3;
    Vector centre{};
    for (const auto& [da, db] : {std::pair{0, 0}, {1, 0}, {1, 1}, {0, 1}}) {
        Index<3> at = vertex;
        at[a] += da;
        at[b] += db;
        const Vector position = coordinates.vertex(at);
        for (std::size_t c = 0; c < 3; ++c)
            centre[c] += position[c];
    }
    for (double& component : centre)
        component /= 4;
    return centre;
}

} // namespace

Field<double> positions(const Decomposition& decomposition, int rank, Centring centring,
                        int ghosts) {
    if (centring == Centring::face)
        throw std::invalid_argument("positions are those of cell centres or vertices");
    Field<double> field(decomposition, rank, {"position", 3, ghosts, centring, Values::position});
    std::size_t local = 0;
    for (const int id : decomposition.blocks_of(rank)) {
        const auto& coordinates =
            decomposition.mesh().zone(decomposition.block(id).zone).coordinates;
        const View<double> view = field.view(local);
        const Box<3>& own = field.owned(local++);
        for_indices(own, [&](const Index<3>& index) {
            const Vector at =
                centring == Centring::cell ? coordinates.centre(index) : coordinates.vertex(index);
            for (int c = 0; c < 3; ++c)
                view(index, c) = at[static_cast<std::size_t>(c)];
        });
    }
    return field;
}

void reflect_positions(const Decomposition& decomposition, int rank, int layers,
                       Field<double>& centres) {
    for (const auto& [name, region] : boundary_regions(decomposition, rank, layers)) {
        const Coordinates& coordinates = decomposition.mesh().zone(region.block.zone).coordinates;
        const View<double> view = centres.view(region.local);
        const std::size_t axis = region.patch.face.axis;
        for_indices(region.ghosts(layers), [&, &region = region](const Index<3>& at) {
            const Index<3> inside = region.mirrored(at);
            if (!region.block.cells.contains(inside))
                return;
            Index<3> vertex = at;
            vertex[axis] = region.patch.face.is_upper() ? region.zone_cells[axis] : 0;
            const Vector middle = side_centre(coordinates, vertex, axis);
            for (int c = 0; c < 3; ++c)
                view(at, c) = 2 * middle[static_cast<std::size_t>(c)] - view(inside, c);
        });
    }
}

} // namespace uzushio::domain
