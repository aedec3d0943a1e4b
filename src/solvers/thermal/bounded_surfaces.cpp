#include "solvers/thermal/bounded_surfaces.hpp"

#include <algorithm>
#include <cmath>

namespace uzushio::thermal {

using Kind = BodyCondition::Kind;

BoundedSurfaces::BoundedSurfaces(MPI_Comm comm, const FlowParameters& flow,
                                 const domain::Grid& grid, const SurfaceScalars& scalars,
                                 std::size_t blocks)
    : comm_(comm), flow_(flow), grid_(grid), scalars_(scalars), parts_(blocks) {
    for (std::size_t b = 0; b < blocks; ++b) {
        parts_[b].fluid.resize(flow.scalars.size());
        parts_[b].solid.resize(flow.scalars.size());
    }
}

void BoundedSurfaces::begin(std::size_t s) {
    for (std::size_t b = 0; b < parts_.size(); ++b) {
        parts_[b].fluid[s].assign(scalars_.fluid(b).size(), {});
        parts_[b].solid[s].assign(scalars_.solid(b).size(), {});
    }
}

/// Return the mean value, for each patch, that the velocity at blocked faces advects out of the
/// fluid cells beside it, over what it advects into them.
std::vector<double> BoundedSurfaces::inflow_values(const std::vector<FlowBlock>& blocks,
                                                   std::size_t s,
                                                   const domain::Field<double>& values) const {
    const std::size_t patches = scalars_.patches();
    std::vector<parallel::CompensatedSum> sums(2 * patches); // amount out, volume in
    for (std::size_t b = 0; b < blocks.size(); ++b)
        for (const auto& point : scalars_.fluid(b))
            for_sides(point.cut, [&](std::size_t a, std::size_t side, const CutSide& cut) {
                if (is_fixed(cut, s))
                    return;
                const Index<3> face = moved(point.cut.at, a, static_cast<std::int64_t>(side));
                const double out = (side == 0 ? -1 : 1) * blocks[b].velocity[a](face) *
                                   grid_.side_area(a, point.cut.at);
                const std::size_t patch = point.patches[a][side];
                if (out > 0)
                    sums[patch].add(out * values.view(b)(point.cut.at));
                else
                    sums[patches + patch].add(-out);
            });
    std::vector<double> totals(sums.size());
    parallel::sum_over_ranks(sums.data(), totals.data(), sums.size(), comm_);
    for (std::size_t patch = 0; patch < patches; ++patch)
        if (totals[patches + patch] > 0)
            totals[patch] /= totals[patches + patch];
    totals.resize(patches);
    return totals;
}

void BoundedSurfaces::add_stage(const std::vector<FlowBlock>& blocks, std::size_t s, double all,
                                double upwind, domain::Field<double>& upwind_of) {
    const std::vector<double> inflow = inflow_values(blocks, s, upwind_of);
    const double diffusivity = flow_.scalars[s].diffusivity;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const View<double> values = upwind_of.view(b);
        const auto& points = scalars_.fluid(b);
        for (std::size_t p = 0; p < points.size(); ++p) {
            const Index<3>& at = points[p].cut.at;
            const double here = values(at);
            double change = 0;
            for_sides(points[p].cut, [&](std::size_t a, std::size_t side, const CutSide& cut) {
                const BodyCondition& body = scalars_.condition(cut.surface, s);
                const Index<3> face = moved(at, a, static_cast<std::int64_t>(side));
                const double per_width = grid_[a].inverse_width()[at[a]];
                const double out = (side == 0 ? -1 : 1) * blocks[b].velocity[a](face);
                const bool fixed = body.kind == Kind::fixed;
                const double beyond = fixed ? body.value : inflow[points[p].patches[a][side]];
                double low = -out * (out > 0 ? here : beyond);
                if (fixed)
                    low += diffusivity * (body.value - here) /
                           std::max(cut.distance, 0.5 / grid_[a].inverse_distance()[face[a]]);
                const double given =
                    body.kind == Kind::flux ? body.value * std::abs(cut.normal[a]) : 0;
                const double high = scalars_.fluid_gains(b, s)[p][a][side] - given;
                change += per_width * (upwind * low + all * given);
                parts_[b].fluid[s][p][a][side] += per_width * (all * high - upwind * low);
            });
            values(at) += change;
        }
        const auto& solids = scalars_.solid(b);
        for (std::size_t p = 0; p < solids.size(); ++p) {
            const auto& point = solids[p];
            if (point.body < 0 || scalars_.condition(point.body, s).kind != Kind::conjugate)
                continue;
            const double capacity = scalars_.condition(point.body, s).capacity;
            for_sides(point.cut, [&](std::size_t a, std::size_t side, const CutSide&) {
                if (point.contacts[a][side].is_fluid)
                    parts_[b].solid[s][p][a][side] += all * scalars_.solid_gains(b, s)[p][a][side] *
                                                      grid_[a].inverse_width()[point.cut.at[a]] /
                                                      capacity;
            });
        }
    }
}

void BoundedSurfaces::finish(std::size_t s, const domain::Field<double>& shares,
                             const domain::Field<double>& start, domain::Field<double>& scalar) {
    const std::size_t patches = scalars_.patches();
    std::vector<parallel::CompensatedSum> sums(2 * patches); // of amounts into cells, and out
    // Bounds of a conductor are values of the fluid beside it, and its own.
    const auto share_of_solid = [&](std::size_t b, std::size_t p, double sign) {
        const auto& point = scalars_.solid(b)[p];
        const Index<3>& at = point.cut.at;
        const View<const double> before = start.view(b);
        double bound = before(at), own = 0, total = 0;
        for_sides(point.cut, [&](std::size_t a, std::size_t side, const CutSide&) {
            if (!point.contacts[a][side].is_fluid)
                return;
            const double beside = before(moved(at, a, side == 0 ? -1 : 1));
            bound = sign > 0 ? std::max(bound, beside) : std::min(bound, beside);
            const double amount = parts_[b].solid[s][p][a][side];
            own += amount;
            total += std::max(sign * amount, 0.0);
        });
        const double room = std::max(sign * (bound - (scalar.view(b)(at) - own)), 0.0);
        return total > room ? room / total : 1.0;
    };
    const auto for_amounts = [&](const auto& visit) { // visit(amount, share, patch, volume, cell)
        for (std::size_t b = 0; b < parts_.size(); ++b) {
            const View<const double> share = shares.view(b);
            const auto& points = scalars_.fluid(b);
            for (std::size_t p = 0; p < points.size(); ++p)
                for_sides(points[p].cut, [&](std::size_t a, std::size_t side, const CutSide& cut) {
                    const double amount = parts_[b].fluid[s][p][a][side];
                    visit(b, points[p].cut.at, amount,
                          amount * share(points[p].cut.at, amount > 0 ? 0 : 1),
                          is_fixed(cut, s) ? patches : points[p].patches[a][side],
                          volume(points[p].cut.at), false);
                });
            const auto& solids = scalars_.solid(b);
            for (std::size_t p = 0; p < solids.size(); ++p) {
                const auto& point = solids[p];
                if (point.body < 0 || scalars_.condition(point.body, s).kind != Kind::conjugate)
                    continue;
                const double capacity = scalars_.condition(point.body, s).capacity;
                const std::array<double, 2> part{share_of_solid(b, p, 1), share_of_solid(b, p, -1)};
                for_sides(point.cut, [&](std::size_t a, std::size_t side, const CutSide&) {
                    const double amount = parts_[b].solid[s][p][a][side];
                    if (point.contacts[a][side].is_fluid)
                        visit(b, point.cut.at, amount, amount * part[amount > 0 ? 0 : 1],
                              point.contacts[a][side].patch, capacity * volume(point.cut.at), true);
                });
            }
        }
    };
    for_amounts([&](std::size_t, const Index<3>&, double, double limited, std::size_t patch,
                    double capacity, bool) {
        if (patch < patches)
            sums[limited > 0 ? patch : patches + patch].add(std::abs(limited) * capacity);
    });
    std::vector<double> totals(sums.size());
    parallel::sum_over_ranks(sums.data(), totals.data(), sums.size(), comm_);
    struct Change {
        std::size_t block;
        Index<3> at;
        double amount;
    };
    std::vector<Change> changes; // shares are computed from values before all changes
    for_amounts([&](std::size_t b, const Index<3>& at, double amount, double limited,
                    std::size_t patch, double, bool solid) {
        if (patch < patches) {
            const double in = totals[patch], out = totals[patches + patch];
            const double same = limited > 0 ? in : out; // amounts in the same direction
            limited = same > 0 ? limited * (std::min(in, out) / same) : 0;
        }
        changes.push_back({b, at, limited - (solid ? amount : 0)});
    });
    for (const Change& change : changes)
        scalar.view(change.block)(change.at) += change.amount;
}

} // namespace uzushio::thermal
