#include "solvers/thermal/immersed_grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "geometry/regions.hpp"
#include "geometry/shapes.hpp"

namespace uzushio::thermal {

using geometry::CutLinks;
using geometry::Lattice;

namespace {

/// Layers of ghosts, as many as van Leer's scheme reads.
constexpr int ghosts = 2;

/// Return the power of 2 of which positions along an axis are multiples, so that sums of positions
/// and periods are exact and a surface cuts the same links at both ends of a periodic axis.
double quantum_of(const std::vector<double>& vertices) {
    const double extent = vertices.back() - vertices.front();
    const double largest = std::max(std::abs(vertices.front()), std::abs(vertices.back()));
    return std::ldexp(1.0, std::ilogb(largest + extent) - 42);
}

/// Return the positions of vertices -ghosts … cells + ghosts, multiples of `quantum`; beyond a
/// boundary, mirror images.
std::vector<double> extended(const std::vector<double>& vertices, const domain::GridAxis& axis,
                             double quantum) {
    std::vector<double> inner = vertices;
    for (double& vertex : inner)
        vertex = std::nearbyint(vertex / quantum) * quantum;
    const std::int64_t cells = axis.cells();
    const double period = inner.back() - inner.front();
    std::vector<double> all(ghosts);
    all.insert(all.end(), inner.begin(), inner.end());
    for (int g = 1; g <= ghosts; ++g) {
        const auto at = static_cast<std::size_t>(ghosts - g);
        if (axis.periodic()) { // a ghost may be several periods away
            const auto image = [&](std::int64_t steps) {
                return inner[static_cast<std::size_t>(steps % cells)] +
                       static_cast<double>(steps / cells) * period;
            };
            all[at] = image(ghosts * cells - g) - ghosts * period;
            all.push_back(image(cells + g));
        } else {
            all[at] = all[at + 1] - axis.width()[-g];
            all.push_back(all.back() + axis.width()[cells + g - 1]);
        }
    }
    return all;
}

} // namespace

ImmersedGrid::ImmersedGrid(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
                           const FlowParameters& flow, const domain::Grid& grid)
    : dimension_(static_cast<std::size_t>(flow.dimension)), grid_(grid),
      numbers_(decomposition, rank, {.name = "region", .ghosts = ghosts}) {
    Vector quanta{1, 1, 1};
    for (std::size_t a = 0; a < dimension_; ++a) {
        quanta[a] = quantum_of(flow.vertices[a]);
        vertices_[a] = extended(flow.vertices[a], grid[a], quanta[a]);
    }
    for (std::size_t body = 0; body < flow.bodies.size(); ++body) {
        std::vector<Vector> shifts{{}};
        for (std::size_t a = 0; a < dimension_; ++a) {
            if (!flow.periodic[a])
                continue;
            const double period =
                vertices_[a][vertices_[a].size() - 1 - ghosts] - vertices_[a][ghosts];
            const std::vector<Vector> before = shifts;
            for (const double sign : {-1.0, 1.0})
                for (Vector shift : before) {
                    shift[a] = sign * period;
                    shifts.push_back(shift);
                }
        }
        for (const Vector& shift : shifts) {
            surfaces_.push_back(geometry::placed(flow.bodies[body].surface, shift, quanta));
            body_.push_back(static_cast<int>(body));
        }
    }
    for (std::size_t b = 0; b < numbers_.blocks(); ++b) {
        const Lattice centres = lattice(b, 3);
        cell_links_.emplace_back();
        for (std::size_t a = 0; a < dimension_; ++a)
            cell_links_.back()[a] = CutLinks(surfaces_, centres, a);
    }
    regions_ =
        geometry::find_regions(comm, decomposition, cell_links_, surfaces_, flow.seeds, numbers_);
    check_bodies(comm, flow);
    check_through_flow(comm, flow);

    const auto open = std::make_shared<domain::Field<double>>(
        decomposition, rank, domain::FieldSpec{.name = "open", .centring = domain::Centring::face});
    for (std::size_t b = 0; b < open->blocks(); ++b)
        for (std::size_t a = 0; a < open->arrays(); ++a)
            for_indices(open->owned(b, a), [&](const Index<3>& face) {
                open->view(b, a)(face) = is_open(b, a, face) ? 1 : 0;
            });
    open_ = open;
}

void ImmersedGrid::check_bodies(MPI_Comm comm, const FlowParameters& flow) const {
    std::vector<int> cuts(flow.bodies.size());
    for (const auto& axes : cell_links_)
        for (const CutLinks& links : axes)
            for (const geometry::CutLink& link : links.all())
                for (const int of_link : {link.lower_body, link.upper_body})
                    cuts[static_cast<std::size_t>(body(of_link))] = 1;
    MPI_Allreduce(MPI_IN_PLACE, cuts.data(), static_cast<int>(cuts.size()), MPI_INT, MPI_MAX, comm);
    for (std::size_t n = 0; n < cuts.size(); ++n)
        if (cuts[n] == 0)
            throw std::invalid_argument(
                "the body " + flow.bodies[n].name +
                " lies between the centres of cells, and would have no effect: use smaller cells "
                "there, or leave it out" +
                (dimension_ == 2 ? ". In two dimensions a body is its section at z = 0" : ""));
}

void ImmersedGrid::check_through_flow(MPI_Comm comm, const FlowParameters& flow) const {
    const auto count = static_cast<std::size_t>(regions());
    std::vector<int> in(count), out(count); // whether a region has an inflow, an outflow
    bool has_inflow = false;
    for (const auto& [face, condition] : conditioned_faces(flow)) {
        const bool inflow = condition->kind == FaceCondition::Kind::inflow;
        if (!inflow && condition->kind != FaceCondition::Kind::outflow)
            continue;
        has_inflow = true;
        for (std::size_t b = 0; b < numbers_.blocks(); ++b)
            for_indices(grid_.cells_at(face, numbers_.owned(b)), [&](const Index<3>& at) {
                if (is_fluid(b, at))
                    (inflow ? in : out)[static_cast<std::size_t>(region(b, at))] = 1;
            });
    }
    if (!has_inflow)
        return;
    for (std::vector<int>* region_flags : {&in, &out})
        MPI_Allreduce(MPI_IN_PLACE, region_flags->data(), regions(), MPI_INT, MPI_MAX, comm);
    const auto inflows = std::count(in.begin(), in.end(), 1);
    if (inflows == 0 || std::count(out.begin(), out.end(), 1) == 0)
        throw std::invalid_argument(std::string("the bodies cover the whole ") +
                                    (inflows == 0 ? "inflow" : "outflow") +
                                    ": leave cells of the fluid at it");
    if (in != out)
        throw std::invalid_argument(
            "the bodies divide the fluid, and a part of it has an inflow but no outflow, or an "
            "outflow but no inflow: leave a way between them");
    if (inflows > 1)
        throw std::invalid_argument("the bodies divide the fluid into parts, and " +
                                    std::to_string(inflows) +
                                    " of them have an inflow: compute each in a run of its own");
}

Lattice ImmersedGrid::lattice(std::size_t block, std::size_t a) const {
    Lattice result;
    result.box = grid_.inside(numbers_.view(block).box());
    for (std::size_t t = 0; t < 3; ++t) {
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
    Vector point{};
    for (std::size_t a = 0; a < 3; ++a)
        point[a] = lattice.position(a, at[a]);
    std::vector<geometry::Crossing> crossings;
    for (std::size_t surface = 0; surface < surfaces_.size(); ++surface) {
        const geometry::Bounds bounds = surfaces_[surface]->bounds();
        bool may_be_inside = true;
        for (std::size_t a = 0; a < 3; ++a)
            may_be_inside =
                may_be_inside && bounds.lower[a] <= point[a] && point[a] <= bounds.upper[a];
        if (!may_be_inside)
            continue;
        crossings.clear();
        surfaces_[surface]->crossings(0, point, crossings);
        geometry::Winding winding;
        for (const geometry::Crossing& crossing : crossings)
            if (crossing.position < point[0])
                winding.pass(crossing);
        if (winding.is_inside())
            return body_[surface];
    }
    return -1;
}

bool ImmersedGrid::is_open(std::size_t block, std::size_t axis, const Index<3>& face) const {
    const Index<3> below = moved(face, axis, -1);
    if (grid_[axis].is_boundary(face[axis]))
        return is_fluid(block, face[axis] == 0 ? face : below);
    return is_fluid(block, face) && is_fluid(block, below) &&
           cell_links_[block][axis].find(below) == nullptr;
}

} // namespace uzushio::thermal
