// Scalars of the scheme van_leer stay between their least and greatest value, and are conserved.
// ranks: 1 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "geometry/shapes.hpp"
#include "parallel/compensated_sum.hpp"
#include "support/thermal_flow.hpp"

namespace uzushio::thermal {
namespace {

using enum FaceCondition::Kind;
using Kind = BodyCondition::Kind;

constexpr double pi = std::numbers::pi;
constexpr double cfl = 0.9; ///< the default

/// Vortices whose normal velocity vanishes at the sides of the unit square.
double vortices(std::size_t a, const Vector& at) {
    const double x = 2 * pi * at[0], y = 2 * pi * at[1];
    return a == 0 ? std::sin(x) * std::cos(y) : (a == 1 ? -std::cos(x) * std::sin(y) : 0);
}

/// 1 in a square that does not lie on vertices, else 0: all gradients are steep.
double square(const Vector& at) {
    return std::max(std::abs(at[0] - 0.31), std::abs(at[1] - 0.42)) < 0.18 ? 1 : 0;
}

FlowParameters closed_box(int cells, double stretching, int dimension) {
    FlowParameters flow;
    flow.dimension = dimension;
    flow.vertices = {vertices_of(cells, 1, stretching), vertices_of(cells, 1, stretching),
                     dimension == 3 ? vertices_of(cells / 2, 0.5) : std::vector<double>{0, 1}};
    flow.periodic = {false, false, dimension == 3};
    flow.viscosity = 1e-3;
    flow.scheme = Scheme::van_leer;
    flow.limits.tolerance = 1e-14;
    flow.scalars = {{"s", 1e-5}};
    for (const char* face : {"i-min", "i-max", "j-min", "j-max"})
        flow.faces[face] = {.kind = symmetry, .scalars = {{}}};
    return flow;
}

struct Range {
    double least = 1, greatest = 0, content = 0;
};

/// Return the range of the scalar in cells that are not in bodies of fixed value, and its integral
/// with `capacity` in cells that are not fluid.
Range range_of(Flow& solver, const FlowParameters& flow, double capacity = 0) {
    Range range;
    parallel::CompensatedSum content;
    for (std::size_t b = 0; b < solver.blocks(); ++b)
        for_indices(solver.block(b).cells(), [&](const Index<3>& at) {
            const double value = solver.field("s").view(b)(at);
            range.least = std::min(range.least, value);
            range.greatest = std::max(range.greatest, value);
            double volume = solver.is_fluid(b, at) ? 1 : capacity;
            for (std::size_t a = 0; a < 3; ++a) {
                const auto n = static_cast<std::size_t>(at[a]);
                volume *= flow.vertices[a][n + 1] - flow.vertices[a][n];
            }
            content.add(value * volume);
        });
    MPI_Allreduce(MPI_IN_PLACE, &range.least, 1, MPI_DOUBLE, MPI_MIN, solver.comm());
    MPI_Allreduce(MPI_IN_PLACE, &range.greatest, 1, MPI_DOUBLE, MPI_MAX, solver.comm());
    range.content = parallel::sum_over_ranks(content, solver.comm());
    return range;
}

/// Take steps of the default length; expect bounds of 0 and 1 after each.
Range expect_bounds(Flow& solver, const FlowParameters& flow, int steps, double capacity = 0) {
    Range range;
    for (int n = 0; n < steps; ++n) {
        solver.step(1, cfl);
        range = range_of(solver, flow, capacity);
        EXPECT_GE(range.least, -1e-12) << n;
        EXPECT_LE(range.greatest, 1 + 1e-12) << n;
        if (testing::Test::HasFailure())
            break;
    }
    return range;
}

TEST(Bounds, AreKeptWithoutBodiesByAllTimeSchemes) {
    for (const auto scheme : {domain::TimeScheme::wray_rk3, domain::TimeScheme::ssp_rk3,
                              domain::TimeScheme::carpenter_kennedy_rk4})
        for (const double stretching : {0.0, 0.6})
            for (const double diffusivity : {1e-9, 1e-2}) {
                FlowParameters flow = closed_box(20, stretching, 2);
                flow.time_scheme = scheme;
                flow.scalars[0].diffusivity = diffusivity;
                Flow solver(flow, vortices, square);
                const double before = range_of(solver, flow).content;
                const Range after = expect_bounds(solver, flow, 20);
                EXPECT_NEAR(after.content, before, 1e-13);
                EXPECT_GT(after.greatest - after.least, 0.01);
            }
}

TEST(Bounds, AreKeptBetweenInflowAndOutflowAndByAnEddyViscosity) {
    FlowParameters flow = closed_box(12, 0.4, 3);
    flow.faces["i-min"] = {.kind = inflow, .velocity = {1, 0, 0}, .scalars = {{true, 1}}};
    flow.faces["i-max"] = {.kind = outflow, .scalars = {{}}};
    flow.faces["j-min"] = {.kind = wall, .scalars = {{true, 0}}};
    flow.subgrid.kind = SubgridModel::Kind::smagorinsky;
    Flow solver(
        flow, [](std::size_t a, const Vector& at) { return a == 0 ? 1 : vortices(a, at); }, square);
    const Range after = expect_bounds(solver, flow, 16);
    EXPECT_GT(after.content, 0.3);
}

class BesideABody : public testing::TestWithParam<Kind> {};

TEST_P(BesideABody, AreKeptAndHeatIsConserved) {
    for (const int dimension : {2, 3})
        for (const double diffusivity : {1e-9, 3e-3, 1.0}) {
            FlowParameters flow = closed_box(dimension == 2 ? 20 : 12, 0.3, dimension);
            flow.scalars[0].diffusivity = diffusivity;
            const double capacity = GetParam() == Kind::conjugate ? 2 : 0;
            const BodyCondition condition{.kind = GetParam(),
                                          .value = GetParam() == Kind::fixed ? 1.0 : 0.0,
                                          .conductivity = 3,
                                          .capacity = 2};
            flow.bodies = {
                {"cylinder", geometry::cylinder({0.47, 0.52, 0.25}, 0.17, 2, 4), {condition}}};
            Flow solver(flow, vortices, square);
            const double before = range_of(solver, flow, capacity).content;
            const Range after = expect_bounds(solver, flow, 12, capacity);
            if (GetParam() != Kind::fixed) {
                EXPECT_NEAR(after.content, before, 1e-12);
            } else {
                EXPECT_GT(after.content, before);
            }
        }
}

INSTANTIATE_TEST_SUITE_P(Kinds, BesideABody,
                         testing::Values(Kind::fixed, Kind::flux, Kind::conjugate));

/// A cylinder in vortices.
FlowParameters with_cylinder(const BodyCondition& condition) {
    FlowParameters flow = closed_box(20, 0, 2);
    flow.scalars[0].diffusivity = 3e-3;
    flow.bodies = {{"cylinder", geometry::cylinder({0.47, 0.52, 0}, 0.17, 2, 4), {condition}}};
    return flow;
}

TEST(Bounds, ValuesOfAnyScaleDiffuseAlike) {
    const FlowParameters flow = with_cylinder({.kind = Kind::conjugate});
    const double scale = std::ldexp(1.0, -990); // products with volumes are below 1e-300
    const auto still = [](std::size_t, const Vector&) { return 0.0; };
    Flow one(flow, still, square);
    Flow tiny(flow, still, [=](const Vector& at) { return scale * square(at); });
    for (int n = 0; n < 4; ++n) {
        one.step(1, cfl);
        tiny.step(1, cfl);
    }
    double error = 0;
    for (std::size_t b = 0; b < one.blocks(); ++b)
        for_indices(one.block(b).cells(), [&](const Index<3>& at) {
            error = std::max(
                error, std::abs(tiny.field("s").view(b)(at) / scale - one.field("s").view(b)(at)));
        });
    EXPECT_LT(error, 1e-10);
}

TEST(Bounds, OnlyConductingBodiesShortenTheStepOfDiffusion) {
    const auto step = [](const FlowParameters& flow) {
        Flow solver(flow, [](std::size_t, const Vector&) { return 0.0; }, square);
        return solver.domain::BlockSolver::stable_dt();
    };
    FlowParameters free = with_cylinder({});
    free.bodies.clear();
    EXPECT_EQ(step(with_cylinder({.kind = Kind::fixed})), step(free));
    EXPECT_EQ(step(with_cylinder({.kind = Kind::flux})), step(free));
    EXPECT_NEAR(step(with_cylinder({.kind = Kind::conjugate})) / step(free), 2 / 2.51, 1e-12);
}

} // namespace
} // namespace uzushio::thermal
