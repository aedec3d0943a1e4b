// ranks: 1 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "geometry/shapes.hpp"
#include "parallel/compensated_sum.hpp"
#include "support/thermal_flow.hpp"

namespace uzushio::thermal {
namespace {

using enum FaceCondition::Kind;

/// Sphere and a periodic cylinder in a stretched channel, at three conditions for scalars.
FlowParameters obstacles() {
    FlowParameters flow;
    flow.vertices = {vertices_of(18, 1.2), vertices_of(16, 1, 0.4), vertices_of(14, 1, 0.2)};
    flow.periodic = {true, false, false};
    flow.viscosity = 0.01;
    flow.force = {1, 0, 0};
    flow.scalars = {{"fixed", 0.02}, {"flux", 0.02}, {"conjugate", 0.02}};
    for (const char* face : {"j-min", "j-max", "k-min", "k-max"})
        flow.faces[face] = {.kind = wall, .scalars = {{true, 0}, {true, 0}, {true, 0}}};
    using Kind = BodyCondition::Kind;
    const std::vector<BodyCondition> conditions{
        {Kind::fixed, 1}, {Kind::flux, 0.3}, {Kind::conjugate, 1, 4, 2}};
    flow.bodies = {{"sphere", geometry::sphere({0.57, 0.45, 0.52}, 0.21), conditions},
                   {"cylinder", geometry::cylinder({0.03, 0.3, 0.5}, 0.11, 2, 0.4), conditions}};
    return flow;
}

const Vector ball_centre{0.47, 0.52, 0.44};
constexpr double ball_radius = 0.25;

TEST(Bodies, KeepMassAndHaveTheSameBitsOnAnyNumberOfRanks) {
    for (const Scheme scheme : {Scheme::central, Scheme::van_leer}) {
        FlowParameters flow = obstacles();
        flow.scheme = scheme;
        flow.subgrid.kind =
            scheme == Scheme::central ? SubgridModel::Kind::none : SubgridModel::Kind::wale;
        flow.limits.tolerance = 1e-11;
        const auto still = [](std::size_t, const Vector&) { return 0.0; };
        const auto cold = [](const Vector& at) { return at[1] * (1 - at[1]); };
        Flow together(flow, still, cold);
        Flow alone(flow, still, cold, MPI_COMM_SELF);
        for (int step = 0; step < 4; ++step) {
            const double dt = alone.step(0.05, 0.5);
            EXPECT_EQ(together.step(0.05, 0.5), dt);
        }
        EXPECT_GT(together.kinetic_energy(), 5e-5);
        EXPECT_LT(together.max_divergence(), 1e-8);
        int different = 0;
        for (std::size_t b = 0; b < together.blocks(); ++b)
            for (const char* name : {"face_velocity", "fixed", "flux", "conjugate", "pressure"})
                for (std::size_t a = 0; a < together.field(name).arrays(); ++a) {
                    const auto u = together.field(name).view(b, a);
                    const auto v = alone.field(name).view(0, a);
                    for_indices(together.field(name).owned(b, a),
                                [&](const Index<3>& at) { different += u(at) != v(at); });
                }
        EXPECT_EQ(different, 0);
        EXPECT_EQ(together.body_forces(), alone.body_forces());
    }
}

/// Return the distance of a point from the segment between two others.
double distance(const Vector& point, const Vector& from, const Vector& to) {
    double along = 0, length = 0, square = 0;
    for (std::size_t a = 0; a < 3; ++a) {
        along += (point[a] - from[a]) * (to[a] - from[a]);
        length += (to[a] - from[a]) * (to[a] - from[a]);
    }
    const double share = std::clamp(along / length, 0.0, 1.0);
    for (std::size_t a = 0; a < 3; ++a)
        square += std::pow(point[a] - from[a] - share * (to[a] - from[a]), 2);
    return std::sqrt(square);
}

TEST(Bodies, TakeAllMomentumOfASteadyFlow) {
    for (const Scheme scheme : {Scheme::central, Scheme::van_leer}) {
        constexpr int n = 8;
        const std::array<Vector, 2> centres{Vector{0.53, 0.46, 0.61}, {0.04, 0.97, 0.21}};
        const std::array<double, 2> radii{0.23, 0.17};
        FlowParameters flow;
        flow.vertices = {vertices_of(n, 1), vertices_of(n, 1), vertices_of(n, 1)};
        flow.periodic = {true, true, true};
        flow.viscosity = 0.5;
        flow.force = {3, 1, -0.5};
        flow.scheme = scheme;
        if (scheme == Scheme::van_leer)
            flow.subgrid = {SubgridModel::Kind::smagorinsky, 3.0};
        flow.limits.tolerance = 1e-9;
        for (std::size_t body = 0; body < 2; ++body)
            flow.bodies.push_back({"sphere", geometry::sphere(centres[body], radii[body]), {}});
        Flow solver(flow, [](std::size_t, const Vector&) { return 0.0; });
        solver.run(2, 1);

        const auto is_open = [&](const Vector& from, const Vector& to) {
            for (std::size_t body = 0; body < 2; ++body)
                for (int image = 0; image < 27; ++image) {
                    const Vector centre{centres[body][0] + image % 3 - 1,
                                        centres[body][1] + image / 3 % 3 - 1,
                                        centres[body][2] + image / 9 - 1.0};
                    if (distance(centre, from, to) < radii[body])
                        return false;
                }
            return true;
        };
        Vector open{}, total{};
        for_indices(domain::Box<3>{{0, 0, 0}, {n, n, n}}, [&](const Index<3>& at) {
            for (std::size_t a = 0; a < 3; ++a) {
                Vector here;
                for (std::size_t t = 0; t < 3; ++t)
                    here[t] = (static_cast<double>(at[t]) + 0.5) / n;
                Vector below = here;
                below[a] -= 1.0 / n;
                open[a] += is_open(below, here) ? std::pow(n, -3) : 0;
            }
        });
        const std::vector<Vector> forces = solver.body_forces();
        for (std::size_t a = 0; a < 3; ++a) {
            total[a] = forces[0][a] + forces[1][a];
            EXPECT_NEAR(total[a], flow.force[a] * open[a], 1e-6) << "along axis " << a;
        }
        EXPECT_GT(forces[0][0], forces[1][0]); // on the larger one
        EXPECT_GT(forces[1][0], 0.2 * total[0]);
    }
}

/// Return the heat in the box, the integral of a scalar times the capacity.
double heat(Flow& solver, const char* name, double capacity_of_solid) {
    parallel::CompensatedSum sum;
    for (std::size_t b = 0; b < solver.blocks(); ++b)
        for_indices(solver.block(b).cells(), [&](const Index<3>& at) {
            const Vector centre = solver.position(at, 3);
            const bool is_solid = distance(centre, ball_centre, ball_centre) < ball_radius;
            const double volume = std::pow(16.0, -3);
            sum.add((is_solid ? capacity_of_solid : 1) * solver.field(name).view(b)(at) * volume);
        });
    return parallel::sum_over_ranks(sum, solver.comm());
}

TEST(Bodies, GiveTheirFluxToTheFlowAndConserveWhatTheyConduct) {
    // The boundary layer is thinner than a cell, and the flow is fast.
    for (const Scheme scheme : {Scheme::central, Scheme::van_leer}) {
        FlowParameters flow;
        flow.vertices = {vertices_of(16, 1), vertices_of(16, 1), vertices_of(16, 1)};
        flow.viscosity = 1e-3;
        flow.scheme = scheme;
        flow.scalars = {{"flux", 1e-4, {0, 0, 1}}, {"conjugate", 1e-4}};
        for (const char* face : {"i-min", "i-max", "j-min", "j-max", "k-min", "k-max"})
            flow.faces[face] = {.kind = wall, .scalars = {{}, {}}};
        using Kind = BodyCondition::Kind;
        flow.bodies = {{"ball",
                        geometry::sphere(ball_centre, ball_radius),
                        {{Kind::flux, 0.05}, {Kind::conjugate, 0, 40, 3}}}};
        Flow solver(
            flow, [](std::size_t, const Vector&) { return 0.0; },
            [](const Vector& at) { return distance(at, ball_centre, ball_centre) < 0.25 ? 1 : 0; });
        const double given = heat(solver, "flux", 0), kept = heat(solver, "conjugate", 3);
        solver.run(3, 0.8);
        EXPECT_GT(solver.kinetic_energy(), 1e-3);
        const double area = (heat(solver, "flux", 0) - given) / (3 * 0.05);
        EXPECT_NEAR(area, 4 * M_PI * ball_radius * ball_radius, 0.01 * area);
        EXPECT_NEAR(heat(solver, "conjugate", 3), kept, 1e-12 * kept);
        EXPECT_NEAR(solver.body_fluxes(0)[0], 0.05, 1e-15);
    }
}

TEST(Bodies, TakeTheShearStressOfCouetteFlow) {
    // A wall moves above a plate that ends between points of the grid: the exact profile is linear.
    for (const std::size_t across : {1, 2}) {
        const std::size_t along = 3 - across;
        FlowParameters flow;
        flow.vertices = {vertices_of(3, 0.7), vertices_of(3, 0.7), vertices_of(3, 0.7)};
        flow.vertices[across] = vertices_of(12, 1, 0.3);
        flow.periodic = {true, true, true};
        flow.periodic[across] = false;
        flow.viscosity = 0.6;
        FaceCondition moving{.kind = wall};
        moving.velocity[along] = 2;
        flow.faces[across == 1 ? "j-min" : "k-min"] = {.kind = wall};
        flow.faces[across == 1 ? "j-max" : "k-max"] = moving;
        constexpr double top = 0.317;
        Vector lower{-1, -1, -1}, upper{2, 2, 2};
        upper[across] = top;
        flow.bodies = {{"plate", geometry::box(lower, upper), {}}};
        Flow solver(flow, [](std::size_t, const Vector&) { return 0.0; });
        solver.run(2.5, 1);
        const Vector force = solver.body_forces()[0];
        const double exact = flow.viscosity * 2 / (1 - top) * 0.7 * 0.7;
        EXPECT_NEAR(force[along], exact, 0.01 * exact);
        EXPECT_NEAR(force[0], 0, 1e-9);
        EXPECT_NEAR(force[across], 0, 1e-9);
    }
}

TEST(Bodies, ThatFillTheBoxAreAnError) {
    FlowParameters flow = obstacles();
    flow.bodies[0].surface = geometry::sphere({0.6, 0.5, 0.5}, 5);
    const auto still = [](std::size_t, const Vector&) { return 0.0; };
    const auto cold = [](const Vector&) { return 0.0; };
    EXPECT_THROW(Flow(flow, still, cold), std::invalid_argument);
}

} // namespace
} // namespace uzushio::thermal
