// ranks: 1 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "geometry/shapes.hpp"
#include "geometry/triangles.hpp"
#include "parallel/compensated_sum.hpp"
#include "support/thermal_flow.hpp"
#include "support/triangulated.hpp"

namespace uzushio::thermal {
namespace {

using enum FaceCondition::Kind;
using Kind = BodyCondition::Kind;

double still(std::size_t, const Vector&) { return 0; }

/// Box of insulated walls that a wall, inclined unless `slope` is 0, divides into two rooms.
struct Rooms {
    double slope = 0;
    /// Return the position of a point across the wall, which is between -0.08 and 0.12.
    [[nodiscard]] double across(const Vector& at) const {
        return (at[0] - 0.5 + slope * (at[1] - 0.5)) / std::sqrt(1 + slope * slope);
    }
    [[nodiscard]] FlowParameters flow(int cells, Scheme scheme) const {
        FlowParameters flow;
        flow.vertices = {vertices_of(cells, 1), vertices_of(cells, 1), vertices_of(cells / 2, 0.5)};
        flow.viscosity = 0.02;
        flow.scheme = scheme;
        flow.limits.tolerance = 1e-12;
        flow.scalars = {{"temperature", 0.02, {0, 8, 0}}};
        for (const char* face : {"i-min", "i-max", "j-min", "j-max", "k-min", "k-max"})
            flow.faces[face] = {.kind = wall, .scalars = {{}}};
        auto triangles = geometry::box_triangles({-0.08, -2, -1}, {0.12, 2, 2});
        const double length = std::sqrt(1 + slope * slope);
        for (auto& triangle : triangles)
            for (Vector& corner : triangle)
                corner = {0.5 + (corner[0] - slope * corner[1]) / length,
                          0.5 + (slope * corner[0] + corner[1]) / length, corner[2]};
        flow.bodies = {{"wall", std::make_shared<geometry::Triangles>(triangles), {{}}}};
        flow.seeds = {{0.05, 0.5, 0.25}, {0.95, 0.5, 0.25}};
        return flow;
    }
};

/// Visit the temperatures of the fluid cells of this rank, with their positions.
template <class Visit> void for_fluid(Flow& solver, const Visit& visit) {
    for (std::size_t b = 0; b < solver.blocks(); ++b)
        for_indices(solver.block(b).cells(), [&](const Index<3>& at) {
            if (solver.is_fluid(b, at))
                visit(solver.position(at, 3), solver.field("temperature").view(b)(at));
        });
}

/// Return the sums of the temperatures of both rooms.
std::array<double, 2> contents(Flow& solver, const Rooms& rooms) {
    std::array<parallel::CompensatedSum, 2> sums;
    for_fluid(solver, [&](const Vector& at, double value) {
        sums[rooms.across(at) > 0 ? 1 : 0].add(value);
    });
    std::array<double, 2> result{};
    parallel::sum_over_ranks(sums.data(), result.data(), 2, solver.comm());
    return result;
}

TEST(Rooms, KeepTheirHeatBehindInsulatingWalls) {
    for (const Scheme scheme : {Scheme::central, Scheme::van_leer})
        for (const double slope : {0.0, 0.3}) {
            const Rooms rooms{slope};
            Flow solver(rooms.flow(12, scheme), still, [&](const Vector& at) {
                return rooms.across(at) > 0 ? 2 + at[0] : std::cos(5 * at[0] + 3 * at[1]);
            });
            const auto before = contents(solver, rooms);
            solver.run(0.4, 0.04);
            EXPECT_GT(solver.kinetic_energy(), 1e-3);
            const auto after = contents(solver, rooms);
            for (const std::size_t room : {0, 1})
                EXPECT_NEAR(after[room], before[room], 1e-12 * before[1]) << room;
        }
}

TEST(Rooms, StayAsColdAsTheyAreBehindInsulatingWalls) {
    for (const Scheme scheme : {Scheme::central, Scheme::van_leer}) {
        const Rooms rooms{0.3};
        FlowParameters flow = rooms.flow(12, scheme);
        flow.faces["i-min"].scalars = {{true, 1}};
        flow.faces["j-max"].velocity = {1, 0, 0};
        Flow solver(flow, still, [](const Vector&) { return 0.0; });
        solver.run(0.4, 0.02);
        double hottest = 0, most = 0;
        for_fluid(solver, [&](const Vector& at, double value) {
            double& largest = rooms.across(at) > 0 ? hottest : most;
            largest = std::max(largest, std::abs(value));
        });
        std::array<double, 2> largest{hottest, most};
        MPI_Allreduce(MPI_IN_PLACE, largest.data(), 2, MPI_DOUBLE, MPI_MAX, solver.comm());
        EXPECT_LT(largest[0], 1e-15);
        EXPECT_GT(largest[1], 0.5);
    }
}

TEST(Bodies, MayBeOneOrTwoIfTheyAreApart) {
    const std::array<Vector, 2> centres{Vector{0.2, 0.25, 0.25}, {1.6, 0.26, 0.24}};
    FlowParameters flow;
    flow.vertices = {vertices_of(32, 2), vertices_of(8, 0.5), vertices_of(8, 0.5)};
    flow.viscosity = 0.02;
    flow.limits.tolerance = 1e-13;
    flow.scalars = {{"temperature", 0.02, {0, 3, 0}}};
    for (const char* face : {"i-min", "i-max", "j-min", "j-max", "k-min", "k-max"})
        flow.faces[face] = {.kind = wall, .scalars = {{}}};
    flow.faces["i-min"].scalars = {{true, 1}};
    const auto cold = [](const Vector&) { return 0.0; };
    auto both = geometry::octahedron(centres[0], 0.15, 3, true);
    const auto second = geometry::octahedron(centres[1], 0.15, 3, true);
    for (const auto& triangles : {both, second})
        flow.bodies.push_back(
            {"sphere", std::make_shared<geometry::Triangles>(triangles), {{Kind::flux, 0.01}}});
    Flow two(flow, still, cold);
    both.insert(both.end(), second.begin(), second.end());
    flow.bodies = {{"spheres", std::make_shared<geometry::Triangles>(both), {{Kind::flux, 0.01}}}};
    Flow one(flow, still, cold);
    for (Flow* solver : {&one, &two})
        solver->run(0.5, 0.02);
    EXPECT_GT(one.kinetic_energy(), 1e-5);
    double largest = 0;
    for (std::size_t b = 0; b < one.blocks(); ++b)
        for_indices(one.block(b).cells(), [&](const Index<3>& at) {
            const double difference =
                one.field("temperature").view(b)(at) - two.field("temperature").view(b)(at);
            largest = std::max(largest, std::abs(difference));
        });
    EXPECT_LT(largest, 1e-12);
}

} // namespace
} // namespace uzushio::thermal
