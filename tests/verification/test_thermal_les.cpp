// ranks: 1 3
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "geometry/shapes.hpp"
#include "solvers/thermal/eddy_viscosity.hpp"
#include "support/jet.hpp"
#include "support/thermal_flow.hpp"

namespace uzushio::thermal {
namespace {

using enum FaceCondition::Kind;
using enum SubgridModel::Kind;
using std::numbers::pi;

const std::array<SubgridModel, 3> models{SubgridModel{smagorinsky}, {wale}, {vreman}};

double viscosity_of(SubgridModel::Kind kind, const Gradient& gradient, int dimension = 3) {
    return eddy_viscosity({kind}, gradient, {0.1, 0.2, 0.4}, dimension);
}

TEST(Subgrid, ModelsHaveTheirValuesForGivenGradients) {
    const double width = 0.2; // root of the product
    const Gradient none{}, shear{{{0, 3, 0}, {0, 0, 0}, {0, 0, 0}}},
        rotation{{{0, -3, 0}, {3, 0, 0}, {0, 0, 0}}}, strain{{{2, 0, 0}, {0, -2, 0}, {0, 0, 0}}};
    for (const SubgridModel& model : models)
        EXPECT_EQ(viscosity_of(model.kind, none), 0);
    EXPECT_NEAR(viscosity_of(smagorinsky, shear), std::pow(0.17 * width, 2) * 3, 1e-15);
    EXPECT_EQ(viscosity_of(wale, shear), 0);
    EXPECT_EQ(viscosity_of(vreman, shear), 0);
    EXPECT_EQ(viscosity_of(smagorinsky, rotation), 0);
    // Sd of a rotation with rate r: diag(-1, -1, 2) r^2 / 3, and S = 0.
    EXPECT_NEAR(viscosity_of(wale, rotation),
                std::pow(0.325 * width, 2) * std::pow(2.0 / 3 * 81, 0.25), 1e-15);
    EXPECT_NEAR(viscosity_of(smagorinsky, strain), std::pow(0.17 * width, 2) * 4, 1e-15);
    // beta = diag(4 * 0.1^2, 4 * 0.2^2, 0).
    for (const int dimension : {2, 3})
        EXPECT_NEAR(viscosity_of(vreman, strain, dimension), 0.07 * std::sqrt(0.04 * 0.16 / 8),
                    1e-15);
    // Plane strain: Sd = diag(1, 1, -2) 4 / 3.
    const double invariant = 16.0 / 9 * 6;
    for (const int dimension : {2, 3}) {
        const double filter = dimension == 2 ? 0.02 : width * width;
        EXPECT_NEAR(viscosity_of(wale, strain, dimension),
                    0.325 * 0.325 * filter * std::pow(invariant, 1.5) /
                        (std::pow(8, 2.5) + std::pow(invariant, 1.25)),
                    1e-15);
    }
}

TEST(Subgrid, WaleVanishesWithTheCubeOfTheDistanceFromAWall) {
    const auto near_wall = [](double y) {
        return viscosity_of(wale, {{{0.5 * y, 1, -0.2 * y},
                                    {0.3 * y * y, -0.9 * y, 0.1 * y * y},
                                    {0.2 * y, 0.6, 0.4 * y}}});
    };
    EXPECT_NEAR(near_wall(1e-3) / near_wall(5e-4), 8, 0.05);
}

TEST(Subgrid, LinearVelocitiesAreDifferentiatedExactly) {
    constexpr std::int64_t n = 5;
    FlowParameters flow;
    auto& vertices = flow.vertices;
    for (std::size_t a = 0; a < 3; ++a)
        vertices[a] = vertices_of(n, 1.0 + 0.3 * static_cast<double>(a), 0.9);
    flow.periodic = {true, true, true};
    const domain::Grid grid(*mesh_of(flow), 1);
    const Gradient gradient{{{0.3, -1, 0.7}, {0.4, 0.5, 1.1}, {-0.6, 0.2, -0.8}}};
    const domain::Box<3> cells{{1, 1, 1}, {n - 1, n - 1, n - 1}}; // not beside boundaries
    std::array<std::vector<double>, 3> storage;
    FlowBlock block;
    for (std::size_t a = 0; a < 3; ++a) {
        domain::Box<3> faces{{0, 0, 0}, {n, n, n}};
        ++faces.upper[a];
        storage[a].resize(static_cast<std::size_t>(faces.volume()));
        const domain::View<double> u(storage[a].data(), faces, 1);
        for_indices(faces, [&](const Index<3>& at) {
            u(at) = 0;
            for (std::size_t t = 0; t < 3; ++t) {
                const double* x = vertices[t].data() + at[t];
                u(at) += gradient[a][t] * (t == a ? x[0] : 0.5 * (x[0] + x[1]));
            }
        });
        block.velocity[a] = u;
    }
    for (const SubgridModel& model : models) {
        flow.subgrid = model;
        std::vector<double> found(n * n * n);
        const domain::View<double> out(found.data(), {{0, 0, 0}, {n, n, n}}, 1);
        set_eddy_viscosity(flow, grid, block, cells, out);
        for_indices(cells, [&](const Index<3>& at) {
            Vector widths;
            for (std::size_t a = 0; a < 3; ++a)
                widths[a] = grid[a].width()[at[a]];
            const double exact = eddy_viscosity(model, gradient, widths, 3);
            EXPECT_NEAR(out(at), exact, 1e-12 * exact);
        });
    }
}

using Point = std::array<Jet, 4>;

Point point(const Vector& at, double time) {
    return {Jet::coordinate(0, at[0]), Jet::coordinate(1, at[1]), Jet::coordinate(2, at[2]),
            Jet::coordinate(3, time)};
}

Jet exact_velocity(std::size_t a, const Point& x) {
    const Jet pulse = 1 + 0.5 * sin(2 * x[3]);
    return (sin(2 * pi * x[(a + 2) % 3]) + 0.7 * cos(2 * pi * x[(a + 1) % 3])) * pulse;
}

Jet exact_scalar(const Point& x) {
    return sin(2 * pi * x[0]) * cos(2 * pi * x[1]) * (1 + cos(2 * pi * x[2]) * cos(x[3]));
}

/// Flow with a filter width that does not depend on the cells, and the sources of the exact fields.
FlowParameters manufactured(SubgridModel model, int cells) {
    FlowParameters flow;
    flow.vertices = {vertices_of(cells, 1), vertices_of(cells, 1), vertices_of(cells, 1)};
    flow.periodic = {true, true, true};
    flow.viscosity = 0.01;
    flow.limits.tolerance = 1e-9;
    model.constant = model.kind == vreman ? 0.01 * cells * cells : 0.1 * cells;
    model.prandtl = 0.7;
    flow.subgrid = model;
    const Vector widths{1.0 / cells, 1.0 / cells, 1.0 / cells};
    const auto viscosity = [=](const Point& x) {
        Gradient gradient;
        for (std::size_t a = 0; a < 3; ++a) {
            const Jet velocity = exact_velocity(a, x);
            for (std::size_t b = 0; b < 3; ++b)
                gradient[a][b] = velocity.d[b];
        }
        return eddy_viscosity(model, gradient, widths, 3);
    };
    const auto divergence = [](const auto& flux, const Vector& at, double time) {
        constexpr double step = 1e-5;
        double sum = 0;
        for (std::size_t b = 0; b < 3; ++b) {
            Vector above = at, below = at;
            above[b] += step;
            below[b] -= step;
            sum += (flux(b, point(above, time)) - flux(b, point(below, time))) / (2 * step);
        }
        return sum;
    };
    const auto residual = [](const Jet& quantity, const Point& x, double diffusivity) {
        double sum = quantity.d[3] - diffusivity * quantity.laplacian;
        for (std::size_t b = 0; b < 3; ++b)
            sum += exact_velocity(b, x).value * quantity.d[b];
        return sum;
    };
    for (std::size_t a = 0; a < 3; ++a)
        flow.sources[a] = [=](const Vector& at, double time) {
            const auto stress = [&](std::size_t b, const Point& x) {
                return viscosity(x) * (exact_velocity(a, x).d[b] + exact_velocity(b, x).d[a]);
            };
            const Point x = point(at, time);
            return residual(exact_velocity(a, x), x, 0.01) - divergence(stress, at, time);
        };
    flow.scalars = {{.name = "s", .diffusivity = 0.02}};
    flow.scalars[0].source = [=](const Vector& at, double time) {
        const auto flux = [&](std::size_t b, const Point& x) {
            return viscosity(x) / 0.7 * exact_scalar(x).d[b];
        };
        const Point x = point(at, time);
        return residual(exact_scalar(x), x, 0.02) - divergence(flux, at, time);
    };
    return flow;
}

/// Return the means over all ranks of the errors of the velocity and of the scalar. (Models are not
/// smooth where their eddy viscosity is 0.)
std::array<double, 2> mean_errors(Flow& solver, double time) {
    std::array<double, 4> sums{};
    for (std::size_t b = 0; b < solver.blocks(); ++b)
        for_indices(solver.block(b).cells(), [&](const Index<3>& at) {
            for (std::size_t a = 0; a < 3; ++a) {
                const double exact = exact_velocity(a, point(solver.position(at, a), time)).value;
                sums[0] += std::abs(solver.field("face_velocity").view(b, a)(at) - exact);
            }
            const double exact = exact_scalar(point(solver.position(at, 3), time)).value;
            sums[1] += std::abs(solver.field("s").view(b)(at) - exact);
            sums[2] += 3;
            sums[3] += 1;
        });
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 4, MPI_DOUBLE, MPI_SUM, solver.comm());
    return {sums[0] / sums[2], sums[1] / sums[3]};
}

TEST(Subgrid, StressAndDiffusionAreOfSecondOrder) {
    constexpr double end = 0.012;
    for (const SubgridModel& model : models) {
        std::array<double, 2> velocity{}, scalar{};
        for (const std::size_t level : {0UL, 1UL}) {
            const int cells = 10 << level;
            Flow solver(
                manufactured(model, cells),
                [](std::size_t a, const Vector& at) {
                    return exact_velocity(a, point(at, 0)).value;
                },
                [](const Vector& at) { return exact_scalar(point(at, 0)).value; });
            while (solver.time() < end - 1e-12)
                solver.step(std::min(0.1 / cells, end - solver.time()), 0.8);
            const auto [of_velocity, of_scalar] = mean_errors(solver, end);
            velocity[level] = of_velocity;
            scalar[level] = of_scalar;
        }
        EXPECT_GT(std::log2(velocity[0] / velocity[1]), 1.7) << velocity[0] << " " << velocity[1];
        EXPECT_GT(std::log2(scalar[0] / scalar[1]), 1.7) << scalar[0] << " " << scalar[1];
    }
}

TEST(Subgrid, TakesEnergyAndHasTheSameBitsOnAnyNumberOfRanks) {
    for (const SubgridModel& model : {SubgridModel{}, models[0], models[1], models[2]}) {
        FlowParameters flow;
        flow.vertices = {vertices_of(10, 1, 0.3), vertices_of(9, 1), vertices_of(8, 1, 0.5)};
        flow.periodic = {true, false, false};
        flow.viscosity = 1e-9;
        flow.subgrid = model;
        flow.scalars = {{.name = "s", .diffusivity = 1e-4}};
        for (const char* face : {"j-min", "j-max"})
            flow.faces[face] = {.kind = symmetry, .scalars = {{}}};
        for (const char* face : {"k-min", "k-max"})
            flow.faces[face] = {.kind = wall, .scalars = {{true, 1}}};
        const auto vortices = [](std::size_t a, const Vector& x) {
            return std::sin(7 * x[(a + 1) % 3] + 3 * x[(a + 2) % 3]) * std::cos(5 * x[a]);
        };
        const auto ramp = [](const Vector& x) { return x[2] + x[1] * x[1]; };
        Flow together(flow, vortices, ramp), alone(flow, vortices, ramp, MPI_COMM_SELF);
        const double energy = together.kinetic_energy();
        for (int step = 0; step < 3; ++step)
            EXPECT_EQ(together.step(0.01, 0.5), alone.step(0.01, 0.5));
        const double lost = 1 - together.kinetic_energy() / energy;
        if (model.kind == SubgridModel::Kind::none)
            EXPECT_NEAR(lost, 0, 1e-5);
        else
            EXPECT_GT(lost, 1e-4);
        int different = 0;
        for (std::size_t b = 0; b < together.blocks(); ++b)
            for (const char* name : {"face_velocity", "s"})
                for (std::size_t a = 0; a < together.field(name).arrays(); ++a) {
                    const auto u = together.field(name).view(b, a);
                    const auto v = alone.field(name).view(0, a);
                    for_indices(together.field(name).owned(b, a),
                                [&](const Index<3>& at) { different += u(at) != v(at); });
                }
        EXPECT_EQ(different, 0);
    }
}

} // namespace
} // namespace uzushio::thermal
