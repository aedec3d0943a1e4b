// ranks: 1 3
#include <gtest/gtest.h>
#include <mpi.h>

#include "geometry/shapes.hpp"
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

TEST(Bodies, KeepMassAndHaveTheSameBitsOnAnyNumberOfRanks) {
    for (const Scheme scheme : {Scheme::central, Scheme::van_leer}) {
        FlowParameters flow = obstacles();
        flow.scheme = scheme;
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
