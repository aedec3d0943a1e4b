// ranks: 1 2 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "support/thermal_flow.hpp"

namespace uzushio::thermal {
namespace {

using enum FaceCondition::Kind;
using std::numbers::pi;

FlowParameters periodic_square(int cells, Scheme scheme) {
    FlowParameters flow;
    flow.dimension = 2;
    flow.vertices = {vertices_of(cells, 2 * pi), vertices_of(cells, 2 * pi), {}};
    flow.periodic = {true, true, false};
    flow.viscosity = 0.05;
    flow.scheme = scheme;
    return flow;
}

/// Vortices that decay and move by (1, 0.5): an exact solution.
Flow::Velocity moving_vortices(double viscosity, double time) {
    return [=](std::size_t component, const Vector& at) {
        const double x = at[0] - time, y = at[1] - 0.5 * time;
        const double decay = std::exp(-2 * viscosity * time);
        return component == 0 ? 1 + std::sin(x) * std::cos(y) * decay
                              : 0.5 - std::cos(x) * std::sin(y) * decay;
    };
}

FlowParameters closed_box(const std::array<int, 3>& cells, double stretching) {
    FlowParameters flow;
    for (std::size_t a = 0; a < 3; ++a)
        flow.vertices[a] = vertices_of(cells[a], 1 + 0.2 * static_cast<double>(a), stretching);
    flow.periodic = {true, false, false};
    for (const char* face : {"j-min", "j-max", "k-min", "k-max"})
        flow.faces[face] = {.kind = symmetry};
    return flow;
}

/// Values without symmetry or scale.
double irregular(std::size_t component, const Vector& at) {
    return std::sin(17 * at[0] + 31 * at[1] + 7 * at[2] + static_cast<double>(component)) +
           std::cos(41 * at[1] * at[2] + 3 * static_cast<double>(component));
}

TEST(FlowSolver, ConvergesToMovingVorticesWithSecondOrder) {
    for (const auto& [scheme, order] :
         {std::pair{Scheme::central, 1.95}, {Scheme::van_leer, 1.4}}) {
        std::array<double, 2> errors{};
        for (const int level : {0, 1}) {
            const int cells = 32 << level;
            const FlowParameters flow = periodic_square(cells, scheme);
            Flow solver(flow, moving_vortices(flow.viscosity, 0));
            solver.run(0.5, 0.4 / cells);
            errors[static_cast<std::size_t>(level)] =
                solver.velocity_error(moving_vortices(flow.viscosity, 0.5));
            EXPECT_LT(solver.max_divergence(), 1e-11);
        }
        EXPECT_GT(std::log2(errors[0] / errors[1]), order) << errors[0] << " " << errors[1];
    }
}

TEST(FlowSolver, ConservesKineticEnergyWithoutViscosity) {
    for (const double stretching : {0.0, 0.6}) {
        const FlowParameters flow = closed_box({12, 10, 14}, stretching);
        Flow solver(flow, irregular);
        const double before = solver.kinetic_energy();
        solver.step(1, 1e-3); // the error of the time scheme is the fourth power
        EXPECT_LT(std::abs(solver.kinetic_energy() / before - 1), 1e-14)
            << "stretching " << stretching;
    }
}

TEST(FlowSolver, GivesSidesThatBlocksShareOneValue) {
    const FlowParameters flow = closed_box({12, 10, 14}, 0);
    // Not periodic: its values at both ends of the periodic axis differ.
    Flow solver(
        flow, [](std::size_t, const Vector& at) { return at[0] + at[1] * at[2]; }, {},
        MPI_COMM_SELF, false);
    const auto u = solver.field("face_velocity").view(0, 0);
    for (std::int64_t j = 0; j < 10; ++j)
        EXPECT_EQ(u(12, j, 3), u(0, j, 3));
    EXPECT_LT(solver.max_divergence(), 1e-12);
}

TEST(FlowSolver, SendsTheEstimatedHalo) {
    FlowParameters flow = closed_box({12, 10, 14}, 0);
    flow.solver = "fft";
    Flow solver(flow, irregular);
    const auto before = solver.traffic()[parallel::Exchange::halo];
    solver.step(1, 0.5);
    const auto after = solver.traffic()[parallel::Exchange::halo];
    std::array<std::int64_t, 2> sent{after.messages - before.messages, after.bytes - before.bytes};
    MPI_Allreduce(MPI_IN_PLACE, sent.data(), 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const domain::SolverEstimate estimate = solver.estimate(ranks);
    EXPECT_EQ(sent[0], estimate.halo_messages);
    EXPECT_EQ(sent[1], estimate.halo_bytes);
}

TEST(FlowSolver, LosesEnergyWithTheBoundedScheme) {
    FlowParameters flow = closed_box({12, 10, 14}, 0);
    flow.scheme = Scheme::van_leer;
    Flow solver(flow, irregular);
    const double before = solver.kinetic_energy();
    solver.step(1, 0.5);
    EXPECT_LT(solver.kinetic_energy(), 0.99 * before);
}

TEST(FlowSolver, HasTheSameBitsOnAnyNumberOfRanks) {
    for (const char* solver : {"fft", "cg"}) {
        FlowParameters flow = closed_box({16, 12, 8}, 0);
        flow.viscosity = 0.01;
        flow.solver = solver;
        flow.scalars = {{"temperature", 0.02, {0, 0, 3}, 0.5, "K"}};
        for (auto& [name, condition] : flow.faces)
            condition.scalars = {{name == "k-min", 1.0}};
        flow.faces["k-min"].kind = wall;
        flow.faces["k-min"].velocity = {0.5, 0.25, 0};
        const auto scalar = [](const Vector& at) { return std::cos(5 * at[0]) * at[2]; };
        Flow together(flow, irregular, scalar);
        Flow alone(flow, irregular, scalar, MPI_COMM_SELF);
        for (int step = 0; step < 3; ++step) {
            const double dt = alone.step(1, 0.5);
            EXPECT_EQ(together.step(1, 0.5), dt);
        }
        int different = 0;
        for (std::size_t b = 0; b < together.blocks(); ++b)
            for (const char* name : {"face_velocity", "temperature", "pressure"})
                for (std::size_t a = 0; a < together.field(name).arrays(); ++a) {
                    const auto u = together.field(name).view(b, a);
                    const auto v = alone.field(name).view(0, a);
                    for_indices(together.field(name).owned(b, a),
                                [&](const Index<3>& at) { different += u(at) != v(at); });
                }
        EXPECT_EQ(different, 0) << solver;
    }
}

TEST(FlowSolver, ConvergesToPoiseuilleFlowBetweenInflowAndOutflow) {
    FlowParameters flow;
    flow.dimension = 2;
    flow.vertices = {vertices_of(48, 6), vertices_of(16, 1), {}};
    flow.viscosity = 0.1;
    flow.faces["i-min"] = {.kind = inflow, .velocity = {1, 0, 0}};
    flow.faces["i-max"] = {.kind = outflow};
    flow.faces["j-min"] = flow.faces["j-max"] = {.kind = wall};
    Flow solver(flow,
                [](std::size_t component, const Vector&) { return component == 0 ? 1.0 : 0.0; });
    solver.run(8, 0.02);
    EXPECT_LT(solver.max_divergence(), 1e-11);
    double error = 0;
    for (std::size_t b = 0; b < solver.blocks(); ++b) {
        const auto u = solver.field("face_velocity").view(b, 0);
        for_indices(solver.field("face_velocity").owned(b, 0), [&](const Index<3>& at) {
            const double y = solver.position(at, 0)[1];
            if (at[0] > 40)
                error = std::max(error, std::abs(u(at) - 6 * y * (1 - y)));
        });
    }
    EXPECT_LT(error, 0.006);
}

TEST(FlowSolver, ConductsHeatAsTheoryOfEigenfunctionsSays) {
    // A fixed temperature below and a heat flux above: sin(pi z / 2) decays, and 1 + 2 z remains.
    std::array<double, 2> errors{};
    for (const int level : {0, 1}) {
        FlowParameters flow;
        flow.dimension = 2;
        flow.vertices = {vertices_of(4, 1), vertices_of(16 << level, 1, 0.5), {}};
        flow.periodic = {true, false, false};
        flow.scalars = {{"temperature", 0.5, {}, 0, "K"}};
        flow.faces["j-min"] = {.kind = wall, .scalars = {{true, 1}}};
        flow.faces["j-max"] = {.kind = wall, .scalars = {{false, 1}}}; // slope 2
        const auto exact = [](double time) {
            return [=](const Vector& at) {
                return 1 + 2 * at[1] +
                       std::sin(pi / 2 * at[1]) * std::exp(-0.5 * pi * pi / 4 * time);
            };
        };
        Flow solver(flow, [](std::size_t, const Vector&) { return 0.0; }, exact(0));
        solver.run(0.2, 1);
        errors[static_cast<std::size_t>(level)] = solver.scalar_error(exact(0.2));
        EXPECT_NEAR(solver.scalar_fluxes(0)[3], 1, 1e-12);
    }
    EXPECT_GT(std::log2(errors[0] / errors[1]), 1.9);
}

TEST(FlowSolver, RefusesContradictions) {
    FlowParameters flow = closed_box({4, 4, 4}, 0);
    flow.faces["j-min"] = {.kind = inflow, .velocity = {0, 1, 0}};
    EXPECT_THROW(FlowSolver{flow}, std::invalid_argument);
    flow.faces["j-max"] = {.kind = outflow};
    EXPECT_NO_THROW(FlowSolver{flow});
    flow.faces["j-min"].velocity = {0, -1, 0};
    EXPECT_THROW(FlowSolver{flow}, std::invalid_argument);
    flow = closed_box({4, 4, 4}, 0);
    flow.faces.erase("k-max");
    EXPECT_THROW(FlowSolver{flow}, std::invalid_argument);
    flow = closed_box({4, 4, 4}, 0);
    flow.faces["k-max"] = {.kind = wall, .velocity = {0, 0, 1}};
    EXPECT_THROW(FlowSolver{flow}, std::invalid_argument);
}

} // namespace
} // namespace uzushio::thermal
