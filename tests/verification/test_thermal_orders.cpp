// ranks: 1
// Orders of convergence by manufactured solutions, with constant values at the boundaries.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "support/jet.hpp"
#include "support/thermal_flow.hpp"

namespace uzushio::thermal {
namespace {

using enum FaceCondition::Kind;
using std::numbers::pi;
using Point = std::array<Jet, 4>;

/// Fields whose equations' residual is the source of a flow.
struct Manufactured {
    std::function<Jet(std::size_t component, const Point&)> velocity;
    std::function<Jet(const Point&)> pressure;
    std::function<Jet(const Point&)> scalar;
};

Point point(const Vector& at, double time) {
    return {Jet::coordinate(0, at[0]), Jet::coordinate(1, at[1]), Jet::coordinate(2, at[2]),
            Jet::coordinate(3, time)};
}

/// Return the residual of the advection-diffusion equation of `quantity`.
double residual(const Manufactured& exact, const Jet& quantity, double diffusivity, const Point& x,
                int dimension) {
    double sum = quantity.d[3] - diffusivity * quantity.laplacian;
    for (std::size_t b = 0; b < static_cast<std::size_t>(dimension); ++b)
        sum += exact.velocity(b, x).value * quantity.d[b];
    return sum;
}

void set_sources(FlowParameters& flow, const Manufactured& exact) {
    for (std::size_t a = 0; a < static_cast<std::size_t>(flow.dimension); ++a)
        flow.sources[a] = [=, nu = flow.viscosity, d = flow.dimension](const Vector& at, double t) {
            const Point x = point(at, t);
            return residual(exact, exact.velocity(a, x), nu, x, d) + exact.pressure(x).d[a];
        };
    Scalar& one = flow.scalars.at(0);
    one.source = [=, kappa = one.diffusivity, d = flow.dimension](const Vector& at, double t) {
        const Point x = point(at, t);
        return residual(exact, exact.scalar(x), kappa, x, d);
    };
}

/// Errors of the velocity and of the scalar: means of the magnitude.
struct Errors {
    double velocity = 0, scalar = 0;
};

Flow flow_of(FlowParameters flow, const Manufactured& exact) {
    set_sources(flow, exact);
    return {flow,
            [&](std::size_t a, const Vector& at) { return exact.velocity(a, point(at, 0)).value; },
            [&](const Vector& at) { return exact.scalar(point(at, 0)).value; }};
}

Errors errors_of(const FlowParameters& flow, const Manufactured& exact, double end, double dt) {
    Flow solver = flow_of(flow, exact);
    solver.run(end, dt);
    Errors errors;
    const double cells = static_cast<double>(solver.block(0).cells().volume());
    for (std::size_t a = 0; a < static_cast<std::size_t>(flow.dimension); ++a)
        for_indices(solver.block(0).cells(), [&](const Index<3>& at) {
            const double value = exact.velocity(a, point(solver.position(at, a), end)).value;
            errors.velocity +=
                std::abs(solver.field("face_velocity").view(0, a)(at) - value) / cells;
        });
    for_indices(solver.block(0).cells(), [&](const Index<3>& at) {
        const double value = exact.scalar(point(solver.position(at, 3), end)).value;
        errors.scalar += std::abs(solver.field("s").view(0)(at) - value) / cells;
    });
    return errors;
}

/// Expect the orders between a grid with `cells` cells along each axis and one with twice as many.
template <class Parameters>
void expect_order(const Parameters& parameters, const Manufactured& exact, int cells, double order,
                  double end = 0.2) {
    const Errors coarse = errors_of(parameters(cells), exact, end, 0.2 / cells);
    const Errors fine = errors_of(parameters(2 * cells), exact, end, 0.1 / cells);
    EXPECT_GT(std::log2(coarse.velocity / fine.velocity), order)
        << "velocity: " << coarse.velocity << " " << fine.velocity;
    EXPECT_GT(std::log2(coarse.scalar / fine.scalar), order)
        << "scalar: " << coarse.scalar << " " << fine.scalar;
}

FlowParameters fluid(Scheme scheme, int dimension) {
    FlowParameters flow;
    flow.dimension = dimension;
    flow.viscosity = 0.02;
    flow.scheme = scheme;
    flow.scalars = {{.name = "s", .diffusivity = 0.03}};
    return flow;
}

// Plates that move at different speeds, with vortices between them that have no velocity there. A
// value of the scalar below, a flux above.
FlowParameters between_plates(int cells, double stretching, Scheme scheme) {
    FlowParameters flow = fluid(scheme, 2);
    flow.vertices = {vertices_of(cells, 2), vertices_of(cells, 1, stretching), {}};
    flow.periodic = {true, false, false};
    flow.faces["j-min"] = {.kind = wall, .velocity = {-0.5, 0, 0}, .scalars = {{true, 1}}};
    flow.faces["j-max"] = {
        .kind = wall, .velocity = {1, 0, 0}, .scalars = {{false, 2 * 0.03}}}; // slope 2
    return flow;
}
const Manufactured plates{
    .velocity =
        [](std::size_t a, const Point& x) {
            const Jet phase = pi * x[0], s = sin(pi * x[1]), pulse = cos(3 * x[3]);
            return a == 0 ? 1.5 * x[1] - 0.5 + 0.6 * sin(phase) * sin(2 * pi * x[1]) * pulse
                          : -0.6 * cos(phase) * s * s * pulse;
        },
    .pressure = [](const Point& x) { return cos(pi * x[0]) * cos(pi * x[1]) * cos(x[3]); },
    .scalar =
        [](const Point& x) {
            return 1 + 2 * x[1] + cos(pi * x[0]) * sin(0.5 * pi * x[1]) * cos(2 * x[3]);
        }};

// Inflow of velocity 1 that symmetry planes bound; no derivative along the normal at the outflow.
FlowParameters through_box(int cells, double stretching, Scheme scheme) {
    FlowParameters flow = fluid(scheme, 2);
    flow.vertices = {vertices_of(cells, 2, stretching), vertices_of(cells, 1), {}};
    flow.faces["i-min"] = {.kind = inflow, .velocity = {1, 0, 0}, .scalars = {{true, 1}}};
    flow.faces["i-max"] = {.kind = outflow, .scalars = {{}}};
    flow.faces["j-min"] = flow.faces["j-max"] = {.kind = symmetry, .scalars = {{}}};
    return flow;
}
/// Return a function of x with zero derivatives: the first at x = 0, both at x = 2.
Jet profile(const Jet& x) {
    const Jet s = sin(0.5 * pi * x);
    return (1 - cos(0.5 * pi * x) + 0.5 * s * s) * (2 / pi);
}
const Manufactured through{
    .velocity =
        [](std::size_t a, const Point& x) {
            const Jet angle = 0.5 * pi * x[0];
            return a == 0 ? 1 + 0.3 * pi * profile(x[0]) * cos(pi * x[1])
                          : -0.3 * sin(angle) * (1 + cos(angle)) * sin(pi * x[1]);
        },
    .pressure = [](const Point& x) { return sin(0.5 * pi * x[0]) * cos(pi * x[1]); },
    .scalar = [](const Point& x) { return 1 + profile(x[0]) * cos(pi * x[1]); }};

// Plates along y, symmetry planes along z.
FlowParameters duct(int cells, double stretching, Scheme scheme) {
    FlowParameters flow = fluid(scheme, 3);
    flow.vertices = {vertices_of(cells, 2), vertices_of(cells, 1, stretching),
                     vertices_of(cells, 1, stretching)};
    flow.periodic = {true, false, false};
    flow.faces["j-min"] = {.kind = wall, .scalars = {{true, 1}}};
    flow.faces["j-max"] = {.kind = wall, .velocity = {0.5, 0, 0}, .scalars = {{false, 0}}};
    flow.faces["k-min"] = flow.faces["k-max"] = {.kind = symmetry, .scalars = {{}}};
    return flow;
}
const Manufactured vortices{
    .velocity =
        [](std::size_t a, const Point& x) {
            const Jet s = sin(pi * x[1]), g = s * s, slope = sin(2 * pi * x[1]);
            const Jet along = cos(pi * x[2]), phase = pi * x[0];
            if (a == 0)
                return 0.5 * x[1] + 0.4 * sin(phase) * slope * along;
            if (a == 1)
                return -0.4 * cos(phase) * g * along + 0.3 * g * along;
            return -0.3 * slope * sin(pi * x[2]);
        },
    .pressure = [](const Point& x) { return cos(pi * x[0]) * cos(pi * x[2]); },
    .scalar =
        [](const Point& x) { return 1 + sin(pi * x[0]) * sin(0.5 * pi * x[1]) * cos(pi * x[2]); }};

TEST(FlowOrders, MovingWallsValuesAndFluxes) {
    for (const double stretching : {0.0, 0.5})
        for (const auto& [scheme, order] :
             {std::pair{Scheme::central, 1.9}, {Scheme::van_leer, 1.7}}) {
            SCOPED_TRACE(std::to_string(stretching) + (scheme == Scheme::central ? " c" : " v"));
            expect_order([=, scheme = scheme](
                             int cells) { return between_plates(cells, stretching, scheme); },
                         plates, 24, order);
        }
}

TEST(FlowOrders, InflowOutflowAndSymmetry) {
    for (const double stretching : {0.0, 0.5})
        for (const auto& [scheme, order] :
             {std::pair{Scheme::central, 1.9}, {Scheme::van_leer, 1.7}}) {
            SCOPED_TRACE(std::to_string(stretching) + (scheme == Scheme::central ? " c" : " v"));
            expect_order(
                [=, scheme = scheme](int cells) { return through_box(cells, stretching, scheme); },
                through, 24, order);
        }
}

TEST(FlowOrders, ThreeDimensions) {
    for (const auto& [stretching, scheme, order] : {std::tuple{0.0, Scheme::central, 1.9},
                                                    {0.5, Scheme::central, 1.9},
                                                    {0.5, Scheme::van_leer, 1.7}}) {
        SCOPED_TRACE(std::to_string(stretching) + (scheme == Scheme::central ? " c" : " v"));
        expect_order([=, stretching = stretching,
                      scheme = scheme](int cells) { return duct(cells, stretching, scheme); },
                     vortices, scheme == Scheme::central ? 10 : 12, order, 0.1);
    }
}

/// Return the velocity and the scalar after `steps` steps until time 1.
std::vector<double> values_after(int steps, const FlowParameters& flow) {
    Flow solver = flow_of(flow, plates);
    solver.run(1, 1.0 / steps);
    std::vector<double> values;
    for_indices(solver.block(0).cells(), [&](const Index<3>& at) {
        for (const std::size_t a : {0, 1})
            values.push_back(solver.field("face_velocity").view(0, a)(at));
        values.push_back(solver.field("s").view(0)(at));
    });
    return values;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double largest = 0;
    for (std::size_t n = 0; n < a.size(); ++n)
        largest = std::max(largest, std::abs(a[n] - b[n]));
    return largest;
}

TEST(FlowOrders, Time) {
    for (const auto& [scheme, order] : {std::pair{domain::TimeScheme::wray_rk3, 2.8},
                                        {domain::TimeScheme::ssp_rk3, 2.8},
                                        {domain::TimeScheme::carpenter_kennedy_rk4, 2.8}}) {
        FlowParameters flow = between_plates(12, 0, Scheme::central);
        flow.time_scheme = scheme;
        const auto coarse = values_after(40, flow), middle = values_after(80, flow),
                   fine = values_after(160, flow);
        const double first = distance(coarse, middle), second = distance(middle, fine);
        EXPECT_GT(std::log2(first / second), order) << first << " " << second;
    }
}

} // namespace
} // namespace uzushio::thermal
