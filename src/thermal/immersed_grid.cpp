#include "thermal/immersed_grid.hpp"

#include <algorithm>
#include <limits>

#include "geometry/flood_fill.hpp"
#include "geometry/shapes.hpp"
#include "thermal/axis_metrics.hpp"

namespace uzushio::thermal {

using domain::Index;
using geometry::CutLinks;
using geometry::Lattice;

namespace {

/// Layers of ghosts, as many as van Leer's scheme reads.
constexpr int ghosts = 2;

/// Return the positions of vertices -ghosts … cells + ghosts; beyond a boundary, mirror images.
std::vector<double> extended(const std::vector<double>& vertices, const linalg::Axis& axis) {
    const AxisMetrics metrics(axis, ghosts);
    std::vector<double> all(ghosts);
    all.insert(all.end(), vertices.begin(), vertices.end());
    for (int g = 1; g <= ghosts; ++g) {
        const auto at = static_cast<std::size_t>(ghosts - g);
        all[at] = all[at + 1] - metrics.width()[-g];
        all.push_back(all.back() + metrics.width()[axis.cells() + g - 1]);
    }
    return all;
}

} // namespace

ImmersedGrid::ImmersedGrid(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
                           const FlowParameters& flow, const std::array<linalg::Axis, 3>& axes)
    : dimension_(static_cast<std::size_t>(flow.dimension)), axes_(axes),
      phase_(decomposition, rank, {.name = "phase", .ghosts = ghosts}) {
    for (std::size_t a = 0; a < dimension_; ++a)
        vertices_[a] = extended(flow.vertices[a], axes[a]);
    for (std::size_t body = 0; body < flow.bodies.size(); ++body) {
        std::vector<domain::Vector> shifts{{}};
        for (std::size_t a = 0; a < dimension_; ++a) {
            if (!flow.periodic[a])
                continue;
            const double period = flow.vertices[a].back() - flow.vertices[a].front();
            const std::vector<domain::Vector> before = shifts;
            for (const double sign : {-1.0, 1.0})
                for (domain::Vector shift : before) {
                    shift[a] = sign * period;
                    shifts.push_back(shift);
                }
        }
        for (const domain::Vector& shift : shifts) {
            const bool here = shift == domain::Vector{};
            surfaces_.push_back(here ? flow.bodies[body].surface
                                     : geometry::shifted(flow.bodies[body].surface, shift));
            body_.push_back(static_cast<int>(body));
        }
    }
    for (std::size_t b = 0; b < phase_.blocks(); ++b) {
        const Lattice centres = lattice(b, 3);
        cell_links_.emplace_back();
        for (std::size_t a = 0; a < dimension_; ++a)
            cell_links_.back()[a] = CutLinks(surfaces_, centres, a);
    }
    geometry::flood_fill(comm, decomposition, cell_links_, surfaces_, flow.seeds, phase_);

    const auto open = std::make_shared<domain::Field<double>>(
        decomposition, rank, domain::FieldSpec{.name = "open", .centring = domain::Centring::face});
    for (std::size_t b = 0; b < open->blocks(); ++b)
        for (std::size_t a = 0; a < open->arrays(); ++a)
            for_indices(open->owned(b, a), [&](const Index<3>& face) {
                open->view(b, a)(face) = is_open(b, a, face) ? 1 : 0;
            });
    open_ = open;
}

Lattice ImmersedGrid::lattice(std::size_t block, std::size_t a) const {
    Lattice result;
    result.box = phase_.view(block).box();
    for (std::size_t t = 0; t < 3; ++t) {
        if (!axes_[t].periodic()) { // nothing is beyond a boundary
            result.box.lower[t] = std::max<std::int64_t>(result.box.lower[t], 0);
            result.box.upper[t] = std::min<std::int64_t>(result.box.upper[t], axes_[t].cells());
        }
        if (t == a) // all faces of those cells
            ++result.box.upper[t];
        for (std::int64_t i = result.box.lower[t]; i < result.box.upper[t]; ++i) {
            if (t >= dimension_) {
                // Just above 0, so that a body from z = 0 upwards has a section.
                result.positions[t].push_back(std::numeric_limits<double>::min());
                continue;
            }
            const double* vertex = vertices_[t].data() + i + ghosts;
            result.positions[t].push_back(t == a ? vertex[0] : 0.5 * (vertex[0] + vertex[1]));
        }
    }
    return result;
}

CutLinks ImmersedGrid::links(const Lattice& lattice, std::size_t axis) const {
    return {surfaces_, lattice, axis};
}

int ImmersedGrid::body_at(const Lattice& lattice, const Index<3>& at) const {
    domain::Vector point{};
    for (std::size_t a = 0; a < 3; ++a)
        point[a] = lattice.position(a, at[a]);
    std::vector<geometry::Crossing> found;
    for (std::size_t surface = 0; surface < surfaces_.size(); ++surface) {
        const geometry::Bounds bounds = surfaces_[surface]->bounds();
        bool may_be_inside = true;
        for (std::size_t a = 0; a < 3; ++a)
            may_be_inside =
                may_be_inside && bounds.lower[a] <= point[a] && point[a] <= bounds.upper[a];
        if (!may_be_inside)
            continue;
        found.clear();
        surfaces_[surface]->crossings(0, point, found);
        const auto below = std::count_if(found.begin(), found.end(), [&](const auto& crossing) {
            return crossing.position < point[0];
        });
        if (below % 2 == 1)
            return body_[surface];
    }
    return -1;
}

bool ImmersedGrid::is_open(std::size_t block, std::size_t axis, const Index<3>& face) const {
    Index<3> below = face;
    --below[axis];
    const linalg::Axis& along = axes_[axis];
    if (!along.periodic() && face[axis] == 0)
        return is_fluid(block, face);
    if (!along.periodic() && face[axis] == along.cells())
        return is_fluid(block, below);
    return is_fluid(block, face) && is_fluid(block, below) &&
           cell_links_[block][axis].find(below) == nullptr;
}

} // namespace uzushio::thermal
