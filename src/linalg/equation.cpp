#include "linalg/equation.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

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
        const auto found = equation.conditions.find(boundary.condition);
        if (found == equation.conditions.end() || found->second == Condition::periodic)
            throw MeshError("zone '" + zone.name + "', " + boundary.patch.text() +
                            ": state whether the unknown is dirichlet or neumann at boundary '" +
                            boundary.condition + "'");
        return found->second;
    }
    throw MeshError("zone '" + zone.name + "', face " + face.name() +
                    ": linear solvers need one condition or connection for the whole face");
}

Axis axis_of(const Equation& equation, const Zone& zone, std::size_t a, bool used) {
    Axis axis;
    axis.used = used;
    domain::Index<3> at{};
    double before = zone.coordinates.vertex(at)[a];
    const double first = before;
    for (at[a] = 1; at[a] <= zone.cells[a]; ++at[a]) {
        const double after = zone.coordinates.vertex(at)[a];
        axis.widths.push_back(after - before);
        before = after;
    }
    if (!used) // one cell, whose width cancels
        return axis.widths.assign(1, 1.0), axis;
    const double mean = (before - first) / axis.cells();
    axis.uniform = std::all_of(axis.widths.begin(), axis.widths.end(), [&](double width) {
        return std::abs(width - mean) <= 1e-10 * mean; // vertices are rounded
    });
    if (axis.uniform)
        std::fill(axis.widths.begin(), axis.widths.end(), mean);
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
    if (mesh.zones().size() != 1 || !mesh.zone(0).coordinates.is_rectilinear())
        throw MeshError("linear solvers need a mesh of one uniform or rectilinear zone");
    const Zone& zone = mesh.zone(0);
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
