#include "solvers/jet/checks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "domain/boundary_region.hpp"

namespace uzushio::jet {
namespace {

using Kind = PatchCondition::Kind;

double sum_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.);
}

void check_thickness(const domain::Mesh& mesh, int ghosts) {
    for (int z = 0; z < static_cast<int>(mesh.zones().size()); ++z) {
        const domain::Zone& zone = mesh.zone(z);
        for (std::size_t axis = 0; axis < static_cast<std::size_t>(mesh.dimension()); ++axis) {
            const auto on_axis = [&](const auto& of_face) {
                return of_face.patch.face.axis == axis;
            };
            const auto& links = mesh.links(z);
            const bool is_between =
                std::any_of(links.begin(), links.end(), on_axis) &&
                std::any_of(zone.boundaries.begin(), zone.boundaries.end(), on_axis);
            if (zone.cells[axis] < ghosts && is_between)
                throw std::invalid_argument(
                    "zone '" + zone.name + "' has " + std::to_string(zone.cells[axis]) +
                    " cells along " + "ijk"[axis] + ", between a connection and a boundary; the " +
                    "scheme needs at least " + std::to_string(ghosts));
        }
    }
}

} // namespace

bool is_possible(const State& state) {
    const auto& fractions = state.mass_fractions;
    return std::abs(sum_of(fractions) - 1) < 1e-6 &&
           std::all_of(
               fractions.begin(), fractions.end(), [](double y) { return y >= -1e-12; }) &&
           std::all_of(
               state.velocity.begin(), state.velocity.end(),
               [](double u) { return std::isfinite(u); }) &&
           state.pressure > 0 && state.temperature > 0 && std::isfinite(state.pressure) &&
           std::isfinite(state.temperature);
}

void check(const State& state, const Gas& gas, const std::string& place) {
    const double sum = sum_of(state.mass_fractions);
    if (state.mass_fractions.size() != gas.species.size() || !(std::abs(sum - 1) < 1e-6))
        throw std::invalid_argument(place + ": the mass fractions must sum to 1, not " +
                                    std::to_string(sum));
    if (!is_possible(state))
        throw std::invalid_argument(place + ": pressure and temperature must be positive, no mass "
                                            "fraction negative, and all values finite");
}

void check(const JetParameters& flow, int ghosts) {
    if (flow.gas.species.empty())
        throw std::invalid_argument("a gas has at least one species");
    for (const auto& [name, condition] : flow.conditions)
        if (has_state(condition.kind)) {
            if (!(condition.relaxation >= 0 && condition.length > 0))
                throw std::invalid_argument("boundary condition '" + name +
                                            "': relaxation must not "
                                            "be negative, and its length must be positive");
            check(condition.state, flow.gas, "boundary condition '" + name + "'");
            if (condition.profile)
                check(condition.profile->surroundings, flow.gas,
                      "surroundings of boundary condition '" + name + "'");
        }
    for (const auto& [name, condition] : flow.conditions)
        if (has_wall_model(condition.kind) && !flow.gas.is_viscous())
            throw std::invalid_argument("boundary condition '" + name +
                                        "': a wall model needs a viscous gas");
    for (const Sponge& sponge : flow.sponges)
        check(sponge.state, flow.gas, "sponge");
    check_thickness(*flow.mesh, ghosts);
}

void check_boundaries(const JetParameters& flow, const domain::Decomposition& decomposition,
                      int rank, const domain::Geometry& geometry,
                      const std::vector<domain::SolverBlock>& blocks) {
    constexpr double tolerance = 1e-6; // of a velocity's share along a normal
    for (const domain::NamedRegion& named : domain::boundary_regions(decomposition, rank, 1)) {
        const PatchCondition& condition = flow.conditions.at(named.condition);
        const bool is_wall = is_no_slip(condition.kind);
        if (!is_wall && !is_inflow(condition.kind))
            continue;
        const domain::BoundaryRegion& region = named.region;
        const domain::Face& face = region.patch.face;
        const View<const double> areas = geometry.areas(region.local, face.axis);
        domain::for_indices(region.patch.layer(region.block.cells), [&](const Index<3>& cell) {
            const Index<3> side = face.is_upper() ? moved(cell, face.axis, 1) : cell;
            const double outward = face.is_upper() ? 1 : -1;
            const Vector centre = blocks[region.local].centre(cell);
            const Vector velocity = state_at(condition, centre).velocity;
            double through = 0, area = 0, square = 0;
            for (int c = 0; c < 3; ++c) {
                const double u = velocity[static_cast<std::size_t>(c)];
                through += outward * u * areas(side, c);
                area += areas(side, c) * areas(side, c);
                square += u * u;
            }
            const double limit = tolerance * std::sqrt(area * square);
            if (is_wall ? std::abs(through) <= limit : through <= limit)
                return;
            std::ostringstream text;
            text << "boundary condition '" << named.condition << "': at (" << centre[0] << ", "
                 << centre[1] << ", " << centre[2] << ") of zone '"
                 << decomposition.mesh().zone(region.block.zone).name << "' the velocity "
                 << (is_wall ? "of the wall has a part along its normal; walls move along "
                               "themselves alone"
                             : "points out of the grid");
            throw std::invalid_argument(text.str());
        });
    }
}

} // namespace uzushio::jet
