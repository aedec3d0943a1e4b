// Fields, boundary conditions on them, and their integration in time.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <limits>

#include "domain/boundaries.hpp"
#include "domain/halo_exchange.hpp"
#include "domain/mesh_error.hpp"
#include "domain/time_integrator.hpp"

namespace uzushio::domain {
namespace {

/// Return a plane channel: periodic along i, walls along j, an inlet in the middle of the upper
/// one.
std::shared_ptr<const Mesh> channel_mesh(int dimension) {
    Zone zone;
    zone.name = "channel";
    zone.cells = {8, 4, dimension == 3 ? 3 : 1};
    zone.coordinates = Coordinates::uniform({0, 0, 0}, {1, 1, 1});
    connect_periodic(zone, 0, {8, 0, 0});
    zone.set_boundary({1, Side::lower}, "wall");
    const std::int64_t depth = zone.cells[2];
    zone.boundaries.push_back({{{1, Side::upper}, {{0, 0}, {2, depth}}}, "wall"});
    zone.boundaries.push_back({{{1, Side::upper}, {{2, 0}, {5, depth}}}, "inlet"});
    zone.boundaries.push_back({{{1, Side::upper}, {{5, 0}, {8, depth}}}, "wall"});
    if (dimension == 3) {
        zone.set_boundary({2, Side::lower}, "side");
        zone.set_boundary({2, Side::upper}, "side");
    }
    return std::make_shared<const Mesh>(dimension, std::vector{zone});
}

GhostFill constant(double value) {
    return [value](const BoundaryGhosts& ghosts, double) {
        for_indices(ghosts.box, [&](const Index<3>& at) { ghosts.values(at) = value; });
    };
}

TEST(Field, IsAlignedContiguousAndAddressedByTheZonesIndices) {
    const auto mesh = channel_mesh(3);
    const std::vector<Block> blocks{{0, 0, 0, {{0, 0, 0}, {5, 4, 3}}},
                                    {0, 0, 0, {{5, 0, 0}, {8, 4, 3}}}};
    const Decomposition decomposition(mesh, blocks, 1);
    Field<double> field(decomposition, 0, {"u", 2, 1});
    ASSERT_EQ(field.blocks(), 2U);
    const auto view = field.view(1);
    EXPECT_EQ(view.box(), (Box<3>{{4, -1, -1}, {9, 5, 4}}));
    EXPECT_EQ(field.owned(1), blocks[1].cells);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data()) % 64, 0U);
    EXPECT_EQ(&view(4, -1, -1, 0), view.data());
    EXPECT_EQ(&view(5, -1, -1, 0), view.data() + 1);
    EXPECT_EQ(&view(4, 0, -1, 0), view.data() + 5);
    EXPECT_EQ(&view(4, -1, 0, 0), view.data() + 5 * 6);
    EXPECT_EQ(&view(4, -1, -1, 1), view.data() + 5 * 6 * 5);
    EXPECT_EQ(view(8, 4, 3, 1), 0.0);
    EXPECT_THROW(Field<double>(decomposition, 0, {"u", 0, 1}), std::invalid_argument);
    EXPECT_THROW(Field<double>(decomposition, 0, {"x", 2, 1, Centring::cell, Values::position}),
                 std::invalid_argument);
    EXPECT_THROW(Field<double>(decomposition, 0, {"f", 1, 1, Centring::cell, Values::flux}),
                 std::invalid_argument);
}

TEST(Field, OfATwoDimensionalMeshHasNoGhostsAlongTheThirdAxis) {
    const auto decomposition = Decomposition::cartesian(channel_mesh(2), 1);
    Field<double> cells(decomposition, 0, {"u", 1, 2}),
        vertices(decomposition, 0, {"x", 1, 1, Centring::vertex}),
        sides(decomposition, 0, {"f", 1, 1, Centring::face});
    EXPECT_EQ(cells.view(0).box(), (Box<3>{{-2, -2, 0}, {10, 6, 1}}));
    EXPECT_EQ(vertices.view(0).box(), (Box<3>{{-1, -1, 0}, {10, 6, 1}}));
    EXPECT_EQ(sides.arrays(), 2U);
    EXPECT_EQ(sides.owned(0, 0), (Box<3>{{0, 0, 0}, {9, 4, 1}}));
    EXPECT_EQ(sides.owned(0, 1), (Box<3>{{0, 0, 0}, {8, 5, 1}}));
}

/// Check the channel's ghosts after exchange and conditions; they do not depend on the
/// decomposition.
void check_channel(const std::vector<Block>& blocks, int layers) {
    const Decomposition decomposition(channel_mesh(3), blocks, 1);
    parallel::Traffic traffic;
    Field<double> u(decomposition, 0, {"u", 1, layers});
    constexpr double unset = -7;
    for (std::size_t b = 0; b < u.blocks(); ++b) {
        for_indices(u.view(b).box(), [&](const Index<3>& at) { u.view(b)(at) = unset; });
        for_indices(u.owned(b), [&](const Index<3>& at) { u.view(b)(at) = 0; });
    }
    HaloExchange<double> halo(MPI_COMM_SELF, decomposition, {u.spec()}, Reach::corners, traffic);
    const Boundaries boundaries(
        decomposition, 0, u.spec(),
        {{"wall", constant(1)}, {"inlet", constant(2)}, {"side", constant(3)}});
    halo.exchange(u);
    boundaries.apply(u, 0);
    for (std::size_t b = 0; b < u.blocks(); ++b)
        for_indices(u.view(b).box(), [&](const Index<3>& at) {
            double expected = 0;
            if (at[2] < 0 || at[2] >= 3)
                expected = 3; // edges belong to the higher axis
            else if (at[1] < 0)
                expected = 1;
            else if (at[1] >= 4) // patches end at their edges; faces extend beyond theirs
                expected = at[0] >= 2 && at[0] < 5 ? 2 : 1;
            EXPECT_EQ(u.view(b)(at), expected) << to_string(Box<3>{at, at}) << " of block " << b;
        });
}

TEST(Boundaries, FillEachGhostOnceForAnyDecomposition) {
    check_channel({{0, 0, 0, {{0, 0, 0}, {8, 4, 3}}}}, 2);
    check_channel({{0, 0, 0, {{0, 0, 0}, {3, 4, 3}}}, {0, 0, 0, {{3, 0, 0}, {8, 4, 3}}}}, 2);
    check_channel({{0, 0, 0, {{0, 0, 0}, {2, 3, 3}}},
                   {0, 0, 0, {{2, 0, 0}, {8, 3, 3}}},
                   {0, 0, 0, {{0, 3, 0}, {8, 4, 2}}}, // thinner than two layers
                   {0, 0, 0, {{0, 3, 2}, {8, 4, 3}}}},
                  2);
}

TEST(Boundaries, MirrorInThePlaneOfTheFace) {
    const Decomposition decomposition = Decomposition::cartesian(channel_mesh(3), 1);
    int faces_seen = 0;
    for (const NamedRegion& named : boundary_regions(decomposition, 0, 2)) {
        const BoundaryRegion& region = named.region;
        const std::size_t a = region.patch.face.axis;
        const std::int64_t n = region.zone_cells[a];
        for_indices(region.ghosts(2), [&](const Index<3>& at) {
            const std::int64_t inside = region.mirrored(at)[a];
            EXPECT_EQ(inside, at[a] < 0 ? -1 - at[a] : 2 * n - 1 - at[a]);
        });
        const Stagger vertices{1, 1, 1};
        for_indices(region.ghosts(1, vertices), [&](const Index<3>& at) {
            EXPECT_EQ(region.mirrored(at, vertices)[a], at[a] < 0 ? 1 : n - 1);
        });
        ++faces_seen;
    }
    EXPECT_EQ(faces_seen, 6);
}

TEST(Boundaries, NameConditionsThatDoNotExist) {
    const Decomposition decomposition = Decomposition::cartesian(channel_mesh(3), 1);
    try {
        const Boundaries boundaries(decomposition, 0, {"u", 1, 1},
                                    {{"wall", constant(0)}, {"side", constant(0)}});
        FAIL() << "no error";
    } catch (const MeshError& error) {
        EXPECT_STREQ(error.what(),
                     "zone 'channel', face j-max, range i 2:5, k 0:3: field 'u' has no "
                     "boundary condition 'inlet'; there are: side, wall");
    }
}

/// Return the error at t = 1 of u' = u cos t, v' = -2 u v, with the solution u = exp(sin t),
/// v = exp(-2 ∫ u dt): a nonlinear, non-autonomous system. The reference of v has a much smaller
/// step.
double error_of(TimeScheme scheme, int steps) {
    const Decomposition decomposition = Decomposition::cartesian(channel_mesh(2), 1);
    const FieldSpec spec{"u", 1, 1};
    const auto solve = [&](TimeScheme with, int count) {
        Field<double> u(decomposition, 0, spec), v(decomposition, 0, spec);
        for (Field<double>* field : {&u, &v})
            for_indices(field->owned(0), [&](const Index<3>& at) { field->view(0)(at) = 1; });
        Field<double>* const state[] = {&u, &v};
        TimeIntegrator<double> integrator(with, decomposition, 0, {spec, spec});
        const auto rate = integrator.derivatives();
        for (int i = 0; i < count; ++i)
            for (const StageInfo& stage : integrator.stages()) {
                const double time = (i + stage.begin) / count;
                for_indices(u.owned(0), [&](const Index<3>& at) {
                    const double a = u.view(0)(at), b = v.view(0)(at);
                    rate[0]->view(0)(at) = a * std::cos(time);
                    rate[1]->view(0)(at) = -2 * a * b;
                });
                integrator.advance(stage, 1.0 / count, state);
            }
        return std::array{u.view(0)(3, 2, 0), v.view(0)(7, 3, 0)};
    };
    static const double v_exact = solve(TimeScheme::carpenter_kennedy_rk4, 2000)[1];
    const auto result = solve(scheme, steps);
    return std::max(std::abs(result[0] - std::exp(std::sin(1.0))), std::abs(result[1] - v_exact));
}

TEST(TimeIntegrator, ConvergesWithTheOrderOfEachScheme) {
    for (const auto& [scheme, order] : {std::pair{TimeScheme::ssp_rk3, 3.0},
                                        {TimeScheme::wray_rk3, 3.0},
                                        {TimeScheme::carpenter_kennedy_rk4, 4.0}}) {
        const double coarse = error_of(scheme, 20), fine = error_of(scheme, 40);
        EXPECT_NEAR(std::log2(coarse / fine), order, 0.15) << "scheme " << static_cast<int>(scheme);
    }
}

TEST(TimeIntegrator, DoesNotDependOnPreviousSteps) {
    const Decomposition decomposition = Decomposition::cartesian(channel_mesh(2), 1);
    const FieldSpec spec{"u", 1, 0};
    for (const auto scheme :
         {TimeScheme::ssp_rk3, TimeScheme::wray_rk3, TimeScheme::carpenter_kennedy_rk4}) {
        Field<double> u(decomposition, 0, spec);
        Field<double>* const state = &u;
        TimeIntegrator<double> integrator(scheme, decomposition, 0, {spec});
        const auto step = [&](double rate) {
            for (const StageInfo& stage : integrator.stages()) {
                Field<double>& derivative = *integrator.derivatives()[0];
                for_indices(derivative.owned(0),
                            [&](const Index<3>& at) { derivative.view(0)(at) = rate; });
                integrator.advance(stage, 0.1, std::span(&state, 1));
            }
        };
        step(std::numeric_limits<double>::quiet_NaN());
        for_indices(u.owned(0), [&](const Index<3>& at) { u.view(0)(at) = 1; });
        step(2);
        EXPECT_NEAR(u.view(0)(4, 2, 0), 1.2, 1e-12);
    }
}

TEST(TimeIntegrator, RefusesOtherFields) {
    const Decomposition decomposition = Decomposition::cartesian(channel_mesh(2), 1);
    TimeIntegrator<double> integrator(TimeScheme::ssp_rk3, decomposition, 0, {{"u", 1, 0}});
    Field<double> two(decomposition, 0, {"u", 2, 0});
    Field<double>* const state = &two;
    EXPECT_THROW(integrator.advance(integrator.stages()[0], 1, std::span(&state, 1)),
                 std::invalid_argument);
}

} // namespace
} // namespace uzushio::domain
