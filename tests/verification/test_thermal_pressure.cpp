// ranks: 1 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <numbers>

#include "geometry/shapes.hpp"
#include "support/thermal_flow.hpp"

namespace uzushio::thermal {
namespace {

using domain::TimeScheme;

constexpr std::array schemes{TimeScheme::wray_rk3, TimeScheme::ssp_rk3,
                             TimeScheme::carpenter_kennedy_rk4};
/// Lengths of steps over that of the stable step, each much shorter than the one before or longer.
constexpr std::array lengths{0.5, 0.02, 0.4, 1e-4, 0.5, 1e-6, 1e-8};

/// Return the maximum difference of a pressure from a function of zero mean over all ranks.
double pressure_error(Flow& flow, const Flow::Value& exact) {
    double error = 0;
    for (std::size_t b = 0; b < flow.blocks(); ++b)
        for_indices(flow.block(b).cells(), [&](const Index<3>& at) {
            const double difference = flow.field("pressure").view(b)(at);
            error = std::max(error, std::abs(difference - exact(flow.position(at, 3))));
        });
    MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, flow.comm());
    return error;
}

TEST(Pressure, IsThatOfDecayingVorticesWhateverTheSteps) {
    constexpr int n = 32;
    constexpr double viscosity = 0.02, k = 2 * std::numbers::pi;
    for (const TimeScheme scheme : schemes)
        for (const char* solver : {"fft", "cg"}) {
            FlowParameters flow;
            flow.dimension = 2;
            flow.vertices = {vertices_of(n, 1), vertices_of(n, 1), {0, 1}};
            flow.periodic = {true, true, true};
            flow.viscosity = viscosity;
            flow.time_scheme = scheme;
            flow.solver = solver;
            Flow vortices(flow, [](std::size_t a, const Vector& x) {
                const double value = std::sin(k * x[a]) * std::cos(k * x[1 - a]);
                return a == 0 ? value : -value;
            });
            for (const double length : lengths) {
                vortices.step(length * vortices.domain::BlockSolver::stable_dt());
                const double decayed = std::exp(-4 * viscosity * k * k * vortices.time());
                const double error = pressure_error(vortices, [&](const Vector& x) {
                    return 0.25 * decayed * (std::cos(2 * k * x[0]) + std::cos(2 * k * x[1]));
                });
                // Of second order in the cells, and half of the change in a step.
                EXPECT_LT(error, 0.04 * 0.5 * decayed) << solver << ", a step of " << length;
            }
        }
}

/// Sphere in a periodic box in which a force accelerates the fluid; no surface is at cell sides.
FlowParameters accelerated() {
    FlowParameters flow;
    flow.vertices = {vertices_of(16, 2), vertices_of(12, 1.5), vertices_of(12, 1.5)};
    flow.periodic = {true, true, true};
    flow.viscosity = 0.02;
    flow.force = {1, 0.5, 0};
    flow.bodies = {{"sphere", geometry::sphere({0.93, 0.71, 0.78}, 0.41), {}}};
    return flow;
}

TEST(Forces, OnABodyInAnAcceleratedFlowDoNotDependOnTheSteps) {
    for (const TimeScheme scheme : schemes) {
        FlowParameters flow = accelerated();
        flow.time_scheme = scheme;
        const auto still = [](std::size_t, const Vector&) { return 0.0; };
        Flow even(flow, still), uneven(flow, still);
        const double dt = 0.01;
        for (int step = 0; step < 40; ++step)
            even.step(dt);
        const double before = even.body_forces()[0][0];
        even.step(dt);
        const double change = std::abs(even.body_forces()[0][0] - before);
        for (int pair = 0; pair < 20; ++pair)
            for (const double length : {1.7 * dt, 0.3 * dt})
                uneven.step(length);
        EXPECT_NEAR(uneven.body_forces()[0][0], before, change) << "after other steps";
        double force = before;
        for (const double length : lengths) {
            const double now = even.body_forces()[0][0];
            even.step(length * dt);
            force = even.body_forces()[0][0];
            EXPECT_NEAR(force, now, 2 * change) << "after a step of " << length;
        }
        EXPECT_GT(force, 0.2);
        EXPECT_LT(change, 0.02 * force);
    }
}

} // namespace
} // namespace uzushio::thermal
