#include "linalg/equation.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "domain/grid.hpp"
#include "domain/mesh_error.hpp"

namespace uzushio::linalg {

namespace {

using domain::Face;
using domain::MeshError;
using domain::Side;
using domain::Zone;

Condition condition_of(const Equation& equation, const Zone& zone, const Face& face) {
    const auto whole = domain::Patch::whole(face, zone.cells);
    for (const auto& connection : zone.connections)
        if (connection.patch == whole)
            return Condition::periodic; // the mesh has one zone: it is connected to itself
    for (const auto& boundary : zone.boundaries) {
        if (!(boundary.patch == whole))
            continue;
        const auto entry = equation.conditions.find(boundary.condition);
        if (entry == equation.conditions.end() || entry->second == Condition::periodic)
            throw MeshError("zone '" + zone.name + "', " + boundary.patch.text() +
                            ": state whether the unknown is dirichlet or neumann at boundary '" +
                            boundary.condition + "'");
        return entry->second;
    }
    throw MeshError("zone '" + zone.name + "', face " + face.name() +
                    ": linear solvers need one condition or connection for the whole face");
}

Axis axis_of(const Equation& equation, const Zone& zone, std::size_t a, bool used) {
    Axis axis;
    axis.used = used;
    if (!used) // one cell, whose width cancels
        return axis.widths.assign(1, 1.0), axis;
    auto [widths, uniform] = domain::cell_widths(zone, a);
    axis.widths = std::move(widths);
    axis.uniform = uniform;
    for (const Side side : {Side::lower, Side::upper})
        axis.ends[side == Side::upper] = condition_of(equation, zone, Face{a, side});
    return axis;
}

} // namespace

double Axis::reciprocal_distance(int face) const {
    if (!used)
        return 0;
    const auto width = [&](int cell) {
        return widths[static_cast<std::size_t>((cell + cells()) % cells())];
    };
    const bool lower = face == 0;
    if ((lower || face == cells()) && !periodic()) {
        const double distance = 0.5 * width(lower ? 0 : cells() - 1);
        return ends[lower ? 0 : 1] == Condition::dirichlet ? 1 / distance : 0;
    }
    return 2 / (width(face - 1) + width(face));
}

std::array<Axis, 3> axes_of(const Equation& equation) {
    if (!(equation.s >= 0) || !std::isfinite(equation.s))
        throw std::invalid_argument("the coefficient s of a Helmholtz equation is not negative");
    const domain::Mesh& mesh = equation.decomposition->mesh();
    const Zone& zone = domain::rectilinear_zone(mesh);
    std::array<Axis, 3> axes;
    for (std::size_t a = 0; a < 3; ++a)
        axes[a] = axis_of(equation, zone, a, a < static_cast<std::size_t>(mesh.dimension()));
    return axes;
}

Equation without_coefficient(Equation equation) {
    equation.b = nullptr;
    return equation;
}

bool is_singular(const Equation& equation) {
    if (equation.s > 0)
        return false;
    for (const Axis& axis : axes_of(equation))
        for (const Condition end : axis.ends)
            if (axis.used && end == Condition::dirichlet)
                return false;
    return true;
}

} // namespace uzushio::linalg
