// ranks: 1 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "geometry/shapes.hpp"
#include "support/thermal_flow.hpp"
#include "support/triangulated.hpp"

namespace uzushio::thermal {
namespace {

using enum FaceCondition::Kind;
using Kind = BodyCondition::Kind;

double still(std::size_t, const Vector&) { return 0; }

TEST(PeriodicBodies, AreTheSameAtBothEndsOfAnAxis) {
    // Sides of the box lie at centres of cells; the sphere has no special place.
    for (const int cells : {9, 10, 12})
        for (const std::size_t axis : {0, 1, 2})
            for (const bool is_box : {true, false}) {
                const double length = 3.3, start = is_box ? 0 : 0.1, h = length / cells;
                FlowParameters flow;
                for (auto& line : flow.vertices)
                    for (int i = 0; i <= cells; ++i)
                        line.push_back(start + h * i);
                flow.periodic = {true, true, true};
                flow.viscosity = 0.01;
                flow.force = {1, 0.3, -0.4};
                flow.scheme = Scheme::van_leer;
                flow.limits.tolerance = 1e-10;
                Vector lower{0.3 * length, 0.3 * length, 0.3 * length};
                Vector upper{0.8 * length, 0.7 * length, 0.6 * length}, centre = lower;
                lower[axis] = (cells - 0.5) * h;
                upper[axis] = length + 1.5 * h;
                centre[axis] = start + 0.03 * length;
                flow.bodies = {
                    {"body",
                     is_box ? geometry::box(lower, upper) : geometry::sphere(centre, 0.23 * length),
                     {}}};
                Flow solver(flow, still, {}, MPI_COMM_SELF);
                for (int step = 0; step < 3; ++step)
                    solver.step(1, 0.8);
                EXPECT_GT(solver.kinetic_energy(), 1e-3);
                EXPECT_LT(solver.max_divergence(), 1e-8);
                int different = 0; // a checkpoint has one of the two values
                const auto u = solver.field("face_velocity").view(0, axis);
                for_indices(solver.field("face_velocity").owned(0, axis), [&](Index<3> at) {
                    const double here = u(at);
                    if (at[axis] == 0) {
                        at[axis] = cells;
                        different += here != u(at);
                    }
                });
                EXPECT_EQ(different, 0);
            }
}

TEST(Bodies, DivideTheFluid) {
    // A shell around a cavity: mass is conserved on both sides of it.
    FlowParameters flow;
    flow.vertices = {vertices_of(10, 1), vertices_of(10, 1), vertices_of(10, 1)};
    flow.viscosity = 0.01;
    flow.limits.tolerance = 1e-10;
    flow.scalars = {{"temperature", 0.01, {0, 0, 5}}};
    for (const char* face : {"i-min", "i-max", "j-min", "j-max", "k-min", "k-max"})
        flow.faces[face] = {.kind = wall, .scalars = {{}}};
    auto triangles = geometry::box_triangles({0.15, 0.15, 0.15}, {0.85, 0.85, 0.85});
    const auto cavity = geometry::box_triangles({0.27, 0.28, 0.29}, {0.73, 0.72, 0.71});
    triangles.insert(triangles.end(), cavity.begin(), cavity.end());
    flow.bodies = {
        {"shell", std::make_shared<geometry::Triangles>(triangles), {{Kind::conjugate, 0, 5}}}};
    flow.seeds = {{0.5, 0.5, 0.5}, {0.01, 0.01, 0.01}};
    Flow solver(flow, still, [](const Vector& at) { return at[0] + 0.5 * at[1]; });
    solver.run(0.5, 0.02);
    EXPECT_GT(solver.kinetic_energy(), 1e-3);
    EXPECT_LT(solver.max_divergence(), 1e-8);
}

constexpr double diffusivity = 0.5;

/// Layer of conductors in contact, along axis `axis`, between two walls; the last layer is fluid.
struct Layers {
    std::vector<double> ends;         ///< of the layers
    std::vector<double> conductivity; ///< over that of the fluid
    /// Return the integral of 1 / conductivity from 0.
    [[nodiscard]] double resistance(double x) const {
        double sum = 0, begin = 0;
        for (std::size_t n = 0; n < ends.size(); ++n) {
            sum += std::max(std::min(x, ends[n]) - begin, 0.0) / (diffusivity * conductivity[n]);
            begin = ends[n];
        }
        return sum;
    }
};

FlowParameters conduction(const Layers& layers, std::size_t axis, double capacity = 1) {
    FlowParameters flow;
    flow.vertices = {vertices_of(4, 1), vertices_of(4, 1), vertices_of(4, 1)};
    flow.vertices[axis] = vertices_of(14, 1, 0.2);
    flow.periodic = {true, true, true};
    flow.periodic[axis] = false;
    flow.viscosity = 0.01;
    flow.scalars = {{"temperature", diffusivity}};
    double begin = -1;
    for (std::size_t n = 0; n + 1 < layers.ends.size(); ++n) {
        Vector lower{-1, -1, -1}, upper{2, 2, 2};
        lower[axis] = begin;
        upper[axis] = begin = layers.ends[n];
        flow.bodies.push_back({"layer",
                               geometry::box(lower, upper),
                               {{Kind::conjugate, 0, layers.conductivity[n], capacity}}});
    }
    return flow;
}

TEST(ConductorsInContact, HaveTheExactTemperatures) {
    for (const std::size_t axis : {0, 1, 2})
        for (const double contact : {0.31, 0.473})
            for (const bool is_flux_given : {false, true}) {
                const Layers layers{{contact, 0.63, 1}, {10, 0.4, 1}};
                FlowParameters flow = conduction(layers, axis);
                const std::string ends = std::string(1, "ijk"[axis]);
                const double flux = -1 / layers.resistance(1);
                flow.faces[ends + "-min"] = {
                    .kind = wall, .scalars = {{!is_flux_given, is_flux_given ? flux : 0}}};
                flow.faces[ends + "-max"] = {.kind = wall, .scalars = {{true, 1}}};
                const auto exact = [&](const Vector& at) {
                    return layers.resistance(at[axis]) / layers.resistance(1);
                };
                Flow solver(flow, still, exact);
                for (int step = 0; step < 10; ++step)
                    solver.step(1, 0.9);
                EXPECT_LT(solver.scalar_error(exact), 1e-12);
                const auto fluxes = solver.scalar_fluxes(0);
                EXPECT_NEAR(fluxes[2 * axis], flux, 1e-12);
                EXPECT_NEAR(fluxes[2 * axis + 1], -flux, 1e-12);
                const auto of_bodies = solver.body_fluxes(0);
                EXPECT_EQ(of_bodies[0], 0); // it touches no fluid
                EXPECT_NEAR(of_bodies[1], flux, 1e-12);
            }
}

TEST(ConductorsInContact, TakeTheValueOfABodyWithAFixedOne) {
    const Layers layers{{0.31, 0.63, 1}, {1, 0.4, 1}};
    FlowParameters flow = conduction(layers, 0);
    flow.bodies[0].scalars = {{Kind::fixed, 0.7}};
    flow.faces["i-min"] = {.kind = wall, .scalars = {{true, 0.2}}};
    flow.faces["i-max"] = {.kind = wall, .scalars = {{true, 1}}};
    const double at_contact = layers.resistance(0.31);
    const auto exact = [&](const Vector& at) {
        const double share =
            (layers.resistance(at[0]) - at_contact) / (layers.resistance(1) - at_contact);
        return at[0] < 0.31 ? 0.7 : 0.7 + 0.3 * share;
    };
    Flow solver(flow, still, [&](const Vector& at) { return at[0] < 0.31 ? 0.1 : exact(at); });
    for (int step = 0; step < 10; ++step)
        solver.step(1, 0.9);
    EXPECT_LT(solver.scalar_error(exact), 1e-12);
    EXPECT_EQ(solver.scalar_fluxes(0)[0], 0); // it does not conduct
}

TEST(ConductorsInContact, AreStableIfTheyHoldLittleHeat) {
    for (const auto& [end, conductivity] :
         {std::pair(0.43, 0.01), std::pair(0.476, 0.3), std::pair(0.526, 20.0)}) {
        const Layers layers{{end, 0.7, 1}, {conductivity, 4, 1}};
        FlowParameters flow = conduction(layers, 1, 0.01);
        flow.faces["j-min"] = {.kind = wall, .scalars = {{true, 0}}};
        flow.faces["j-max"] = {.kind = wall, .scalars = {{true, 1}}};
        Flow solver(flow, still, [](const Vector& at) { return at[1] > 0.5 ? 1 : 0; });
        for (int step = 0; step < 60; ++step)
            solver.step(1, 0.9);
        EXPECT_LT(solver.scalar_error([](const Vector&) { return 0.5; }), 0.51);
    }
}

} // namespace
} // namespace uzushio::thermal
