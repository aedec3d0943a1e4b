#include "geometry/regions.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <stdexcept>

#include "domain/halo_exchange.hpp"
#include "geometry/parts.hpp"

namespace uzushio::geometry {

using domain::Box;
using domain::Index;
using domain::moved;
using domain::Vector;

namespace {

constexpr double none = -1;

/// Return the cell of the mesh that contains a point. Throws `std::invalid_argument` if none does.
Index<3> cell_around(const domain::Mesh& mesh, const Vector& point) {
    const domain::Zone& zone = mesh.zone(0);
    Index<3> cell{};
    for (std::size_t a = 0; a < static_cast<std::size_t>(mesh.dimension()); ++a) {
        const auto vertex = [&](std::int64_t i) {
            Index<3> at{};
            at[a] = i;
            return zone.coordinates.vertex(at)[a];
        };
        if (!(vertex(0) <= point[a] && point[a] <= vertex(zone.cells[a]))) {
            std::ostringstream text;
            text << "the seed (" << point[0] << ", " << point[1] << ", " << point[2]
                 << ") is outside the mesh: give a point in the fluid";
            throw std::invalid_argument(text.str());
        }
        while (cell[a] + 1 < zone.cells[a] && vertex(cell[a] + 1) <= point[a])
            ++cell[a];
    }
    return cell;
}

/// Return whether the centre of a cell is outside the bounds of all bodies.
bool is_outside(const Vector& centre, int dimension,
                const std::vector<std::shared_ptr<const Surface>>& bodies) {
    return std::none_of(bodies.begin(), bodies.end(), [&](const auto& body) {
        const Bounds bounds = body->bounds();
        for (std::size_t a = 0; a < static_cast<std::size_t>(dimension); ++a)
            if (centre[a] < bounds.lower[a] || bounds.upper[a] < centre[a])
                return false;
        return true;
    });
}

/// Return the cells of a block at boundaries of the mesh; all if the mesh has none.
std::vector<Box<3>> first_cells(const domain::Zone& zone, const Box<3>& cells) {
    if (zone.boundaries.empty())
        return {cells};
    std::vector<Box<3>> boxes;
    for (const domain::BoundaryPatch& boundary : zone.boundaries)
        boxes.push_back(intersect(boundary.patch.layer(Box<3>::of(zone.cells)), cells));
    return boxes;
}

} // namespace

int find_regions(MPI_Comm comm, const domain::Decomposition& decomposition,
                 const std::vector<std::array<CutLinks, 3>>& links,
                 const std::vector<std::shared_ptr<const Surface>>& bodies,
                 const std::vector<Vector>& seeds, domain::Field<double>& numbers) {
    const domain::Mesh& mesh = decomposition.mesh();
    const domain::Zone& zone = mesh.zone(0);
    const auto labels_of = [&](std::size_t b, const Index<3>& cell, std::vector<double>& labels) {
        if (numbers.owned(b).contains(cell))
            labels.push_back(numbers.view(b)(cell));
    };
    std::vector<Index<3>> seed_cells;
    for (const Vector& seed : seeds)
        seed_cells.push_back(cell_around(mesh, seed));
    label_parts(
        comm, decomposition,
        [&](std::size_t b, const Index<3>& at, std::size_t axis, int step) {
            return links[b][axis].find(step > 0 ? at : moved(at, axis, -1)) == nullptr;
        },
        numbers);
    std::vector<double> own;
    for (std::size_t b = 0; b < numbers.blocks(); ++b) {
        for (const Index<3>& cell : seed_cells)
            labels_of(b, cell, own);
        if (seeds.empty())
            for (const Box<3>& layer : first_cells(zone, numbers.owned(b)))
                for_indices(layer, [&](const Index<3>& cell) {
                    if (is_outside(zone.coordinates.centre(cell), mesh.dimension(), bodies))
                        labels_of(b, cell, own);
                });
    }
    const std::vector<double> fluid = distinct_values(comm, own);
    if (fluid.empty())
        throw std::invalid_argument("the bodies leave no fluid: give a seed, a point in the fluid");
    for (std::size_t b = 0; b < numbers.blocks(); ++b)
        for_indices(numbers.owned(b), [&](const Index<3>& at) {
            double& number = numbers.view(b)(at);
            const auto position = std::lower_bound(fluid.begin(), fluid.end(), number);
            number = position != fluid.end() && *position == number
                         ? static_cast<double>(position - fluid.begin())
                         : none;
        });
    parallel::Traffic uncounted;
    domain::HaloExchange<double>(comm, decomposition, {numbers.spec()}, domain::Reach::edges,
                                 uncounted)
        .exchange(numbers);
    return static_cast<int>(fluid.size());
}

} // namespace uzushio::geometry
