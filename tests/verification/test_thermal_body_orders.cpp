// ranks: 1
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>

#include "geometry/shapes.hpp"
#include "support/thermal_flow.hpp"

namespace uzushio::thermal {
namespace {

using enum FaceCondition::Kind;

/// Fluid between two cylinders, driven by a force along the circles, and at two temperatures.
struct Annulus {
    static constexpr double inner = 0.15, outer = 0.41, nu = 0.1, force = 1, kappa = 0.1,
                            conductivity = 3;
    double x, y; ///< of the centre
    double a = 0, b = 0;

    Annulus(double at_x, double at_y) : x(at_x), y(at_y) {
        // u = -force / (2 nu) r ln r + a r + b / r vanishes at both surfaces.
        const auto right = [](double r) { return force / (2 * nu) * r * std::log(r); };
        const double m[2][2] = {{inner, 1 / inner}, {outer, 1 / outer}};
        const double determinant = m[0][0] * m[1][1] - m[0][1] * m[1][0];
        a = (right(inner) * m[1][1] - right(outer) * m[0][1]) / determinant;
        b = (right(outer) * m[0][0] - right(inner) * m[1][0]) / determinant;
    }
    [[nodiscard]] double radius(const Vector& at) const { return std::hypot(at[0] - x, at[1] - y); }
    [[nodiscard]] bool contains(const Vector& at) const {
        return inner < radius(at) && radius(at) < outer;
    }
    [[nodiscard]] double velocity(std::size_t component, const Vector& at) const {
        if (!contains(at))
            return 0;
        const double r = radius(at);
        const double u = -force / (2 * nu) * r * std::log(r) + a * r + b / r;
        return u / r * (component == 0 ? y - at[1] : at[0] - x);
    }
    /// Conduction from a core with a source, of another conductivity, to the outer surface at 0.
    [[nodiscard]] double temperature(const Vector& at) const {
        const double r = radius(at);
        if (r > outer)
            return 0;
        const double surface = std::log(outer / inner);
        return r > inner ? std::log(outer / r)
                         : surface + (1 - std::pow(r / inner, 2)) / (2 * conductivity);
    }
    [[nodiscard]] FlowParameters flow(int cells, Scheme scheme, double stretching) const {
        FlowParameters flow;
        flow.dimension = 2;
        flow.vertices = {vertices_of(cells, 1, stretching), vertices_of(cells, 1, stretching), {}};
        flow.viscosity = nu;
        flow.scheme = scheme;
        flow.limits.tolerance = 1e-12;
        for (const std::size_t component : {0UL, 1UL})
            flow.sources[component] = [component, *this](const Vector& at, double) {
                const double square = std::pow(radius(at), 2);
                return contains(at) ? force / square * (component == 0 ? y - at[1] : at[0] - x) : 0;
            };
        // The same solution for all conditions at the inner surface.
        flow.scalars = {{"fixed", kappa}, {"flux", kappa}, {"conjugate", kappa}};
        for (const char* face : {"i-min", "i-max", "j-min", "j-max"})
            flow.faces[face] = {.kind = wall, .scalars = {{}, {}, {}}};
        using Kind = BodyCondition::Kind;
        flow.bodies = {{"inner",
                        geometry::cylinder({x, y, 0}, inner, 2, INFINITY),
                        {{Kind::fixed, std::log(outer / inner)},
                         {Kind::flux, kappa / inner},
                         {Kind::conjugate, 2 * kappa / (inner * inner), conductivity, 2}}},
                       {"outer",
                        geometry::cylinder({x, y, 0}, outer, 2, INFINITY),
                        {{Kind::fixed}, {Kind::fixed}, {Kind::fixed}}}};
        flow.seeds = {{x + 0.28, y, 0}};
        return flow;
    }
};

/// Return the mean errors of the velocity and of the scalars in the fluid, and that of the last
/// scalar in the core.
std::array<double, 5> errors_in(Flow& solver, const Annulus& annulus) {
    std::array<double, 10> sums{}; // of errors, and numbers of values
    const auto add = [&](std::size_t which, double error) {
        sums[which] += std::abs(error);
        sums[5 + which] += 1;
    };
    for (std::size_t b = 0; b < solver.blocks(); ++b)
        for_indices(solver.block(b).cells(), [&](const Index<3>& at) {
            for (std::size_t a = 0; a < 2; ++a)
                if (const Vector face = solver.position(at, a); annulus.contains(face))
                    add(0,
                        solver.field("face_velocity").view(b, a)(at) - annulus.velocity(a, face));
            const Vector centre = solver.position(at, 3);
            const double exact = annulus.temperature(centre);
            if (annulus.contains(centre)) {
                add(1, solver.field("fixed").view(b)(at) - exact);
                add(2, solver.field("flux").view(b)(at) - exact);
                add(3, solver.field("conjugate").view(b)(at) - exact);
            } else if (annulus.radius(centre) < Annulus::inner) {
                add(4, solver.field("conjugate").view(b)(at) - exact);
            }
        });
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    std::array<double, 5> means{};
    for (std::size_t which = 0; which < 5; ++which)
        means[which] = sums[which] / sums[5 + which];
    return means;
}

/// Return the errors after a time in which the numerical solution becomes steady.
std::array<double, 5> steady_errors(const Annulus& annulus, int cells, Scheme scheme) {
    Flow solver(
        annulus.flow(cells, scheme, 0.3),
        [&](std::size_t component, const Vector& at) { return annulus.velocity(component, at); },
        [&](const Vector& at) { return annulus.temperature(at); });
    while (solver.time() < 0.12)
        solver.step(1, 0.8);
    EXPECT_LT(solver.max_divergence(), 1e-10);
    return errors_in(solver, annulus);
}

TEST(Bodies, FlowBetweenCylindersConverges) {
    // Means over places of the surfaces in the cells, on which the error depends.
    std::array<std::array<double, 5>, 2> errors{};
    for (const std::size_t level : {0UL, 1UL})
        for (int place = 0; place < 4; ++place) {
            const Annulus annulus(0.487 + 0.011 * place, 0.513 - 0.007 * place);
            const auto found = steady_errors(annulus, 20 << level, Scheme::central);
            for (std::size_t which = 0; which < 5; ++which)
                errors[level][which] += found[which] / 4;
        }
    for (const std::size_t which : {0UL, 1UL, 3UL}) // velocity, fixed and conjugate
        EXPECT_GT(std::log2(errors[0][which] / errors[1][which]), 1.7)
            << which << ": " << errors[0][which] << " " << errors[1][which];
    for (const std::size_t which : {2UL, 4UL}) // a given flux; the core of the conjugate one
        EXPECT_LT(errors[1][which], 0.007);
}

} // namespace
} // namespace uzushio::thermal
