// ranks: 1 2 3 5
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>

#include "linalg/solvers.hpp"
#include "support/elliptic_case.hpp"

namespace uzushio::linalg {
namespace {

using enum Condition;

constexpr Ends p{periodic, periodic};
constexpr Ends n{neumann, neumann};
constexpr Ends d{dirichlet, dirichlet};

/// Return whether a cell is outside a ball, in units of the cells of the box. The ball is repeated
/// in periodic directions.
bool is_outside(const EllipticCase& c, const Index<3>& cell, const std::array<double, 3>& centre,
                double radius) {
    double square = 0;
    for (std::size_t a = 0; a < static_cast<std::size_t>(c.dimension); ++a) {
        double x = (static_cast<double>(cell[a]) + 0.5) / static_cast<double>(c.cells[a]);
        x = std::abs(x - centre[a]);
        if (c.ends[a][0] == periodic)
            x = std::min(x, 1 - x);
        square += x * x;
    }
    return square > radius * radius;
}

/// Return the case with the faces of cells in a ball blocked.
EllipticCase with_ball(EllipticCase c, const std::array<double, 3>& centre, double radius) {
    c.b = [c, centre, radius](std::size_t axis, Index<3> i) {
        Index<3> below = i;
        --below[axis];
        for (Index<3>* cell : {&i, &below}) {
            if (c.ends[axis][0] == periodic)
                (*cell)[axis] = ((*cell)[axis] + c.cells[axis]) % c.cells[axis];
            const bool beyond = (*cell)[axis] < 0 || (*cell)[axis] >= c.cells[axis];
            if (!beyond && !is_outside(c, *cell, centre, radius))
                return 0.0;
        }
        return 1.0;
    };
    return c;
}

/// Return random values: 0 in isolated cells, and without mean in the others if constants are
/// solutions.
std::vector<double> solution_of(const EllipticCase& c) {
    const auto axes = axes_of(c.equation(1));
    const auto is_isolated = [&](const Index<3>& i) {
        for (std::size_t a = 0; a < static_cast<std::size_t>(c.dimension); ++a)
            for (const int side : {0, 1}) {
                Index<3> face = i;
                face[a] += side;
                if (axes[a].reciprocal_distance(static_cast<int>(face[a])) > 0 && c.b(a, face) > 0)
                    return false;
            }
        return c.s == 0;
    };
    std::vector<double> x = random_solution(c, 3);
    double sum = 0;
    double volume = 0;
    const auto for_fluid = [&](auto&& visit) {
        for_indices(Box<3>::of(c.cells), [&](const Index<3>& i) {
            double cell = 1;
            for (std::size_t a = 0; a < 3; ++a)
                cell *= axes[a].widths[std::size_t(i[a])];
            if (!is_isolated(i))
                visit(x[c.at(i)], cell);
            else
                x[c.at(i)] = 0;
        });
    };
    for_fluid([&](double value, double cell) {
        sum += value * cell;
        volume += cell;
    });
    if (c.singular())
        for_fluid([&](double& value, double) { value -= sum / volume; });
    return x;
}

struct Result {
    SolveReport report;
    Field<double> x;
};

Result solve(const EllipticCase& c, const std::vector<double>& f_values, double tolerance,
             MPI_Comm comm = MPI_COMM_WORLD, std::string_view name = "cg/fft") {
    const bool alone = comm == MPI_COMM_SELF;
    const int me = alone ? 0 : rank();
    const Equation equation = c.equation(alone ? 1 : ranks(), me);
    parallel::Traffic traffic;
    parallel::SectionMonitor sections;
    const auto solver = make_solver(name, comm, equation, {tolerance, 200}, traffic, sections);
    const auto f = field_of(c, *equation.decomposition, me, f_values, 0);
    Field<double> x(*equation.decomposition, me, f.spec());
    const SolveReport report = solver->solve(f, x);
    return {report, std::move(x)};
}

std::vector<EllipticCase> cases() {
    const std::array<double, 3> middle{0.45, 0.5, 0.55};
    EllipticCase stretched{{16, 12, 14}, {n, n, Ends{neumann, dirichlet}}, {true, true, true}};
    EllipticCase helmholtz{{12, 10, 11}, {n, p, n}};
    helmholtz.s = 3;
    EllipticCase plane{{20, 24, 1}, {p, n, n}};
    plane.dimension = 2;
    EllipticCase plate{{12, 14, 10}, {n, d, p}};
    plate.b = [](std::size_t axis, const Index<3>& i) {
        return axis == 2 && i[2] == 4 && i[0] > 3 && i[1] > 2 && i[1] < 9 ? 0.0 : 1.0;
    };
    EllipticCase nothing{{8, 8, 8}, {n, n, n}};
    nothing.b = [](std::size_t, const Index<3>&) { return 1.0; };
    return {with_ball({{16, 14, 15}, {n, n, n}}, middle, 0.3),
            with_ball({{16, 14, 15}, {p, p, p}}, {0.0, 0.9, 0.1}, 0.3),
            with_ball({{16, 14, 15}, {d, n, p}}, {0.1, 0.5, 0.5}, 0.25), // blocks a Dirichlet face
            with_ball(stretched, middle, 0.3),
            with_ball(helmholtz, middle, 0.3),
            with_ball(plane, middle, 0.3),
            plate,
            nothing};
}

TEST(BlockedFftSolver, InvertsTheOperatorOfEachEquation) {
    std::size_t number = 0;
    for (const EllipticCase& c : cases()) {
        const auto x = solution_of(c);
        const auto result = solve(c, applied(c, x), 1e-12);
        EXPECT_EQ(result.report.solver, "cg/fft");
        EXPECT_TRUE(result.report.converged) << "case " << number;
        EXPECT_LT(difference(c, result.x, x), 1e-9) << "case " << number;
        ++number;
    }
}

TEST(BlockedFftSolver, HasTheSameBitsOnAnyNumberOfRanks) {
    std::size_t number = 0;
    for (const EllipticCase& c : cases()) {
        const auto f = applied(c, solution_of(c));
        const auto alone = solve(c, f, 1e-8, MPI_COMM_SELF);
        std::vector<double> values(c.size());
        for_indices(alone.x.owned(0), [&](const auto& i) { values[c.at(i)] = alone.x.view(0)(i); });
        EXPECT_EQ(difference(c, solve(c, f, 1e-8).x, values), 0) << "case " << number;
        ++number;
    }
}

TEST(BlockedFftSolver, TakesAsManyIterationsOnFineMeshesAsOnCoarseOnes) {
    // Harmonic functions inside and outside of a sphere: the eigenvalues of B^-1 A are 1 and
    // (l + 1) / (2 l + 1), so the condition number is 2 and the error falls by 5.8 an iteration.
    for (const std::int64_t size : {12, 24, 40}) {
        const auto c = with_ball({{size, size, size}, {n, n, n}}, {0.5, 0.5, 0.5}, 0.25);
        EXPECT_LE(solve(c, applied(c, solution_of(c)), 1e-8).report.iterations, 11) << size;
    }
}

TEST(BlockedFftSolver, AppliesToCoefficientsThatAreZeroOrOne) {
    auto c = with_ball({{8, 8, 8}, {n, n, n}}, {0.5, 0.5, 0.5}, 0.3);
    const auto f = applied(c, solution_of(c));
    EXPECT_EQ(solve(c, f, 1e-8, MPI_COMM_WORLD, "auto").report.solver, "cg/fft");
    // Matrices transform both axes, and the wall has no cells inside.
    EllipticCase wall{{128, 64, 1}, {n, n, n}, {true, true, false}};
    wall.dimension = 2;
    wall.b = [](std::size_t axis, const Index<3>& i) {
        return axis == 0 && i[0] == 64 && i[1] > 9 ? 0.0 : 1.0;
    };
    const auto right = applied(wall, solution_of(wall));
    EXPECT_EQ(solve(wall, right, 1e-6, MPI_COMM_WORLD, "auto").report.solver, "cg");
    c.b = [](std::size_t, const Index<3>& i) { return i[0] < 3 ? 2.0 : 1.0; };
    EXPECT_THROW(solve(c, f, 1e-8), std::invalid_argument);
    EXPECT_EQ(
        solve(c, applied(c, random_solution(c, 1)), 1e-8, MPI_COMM_WORLD, "auto").report.solver,
        "cg");
}

} // namespace
} // namespace uzushio::linalg
