// ranks: 1 2 3 5
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "linalg/coarsening.hpp"
#include "linalg/solvers.hpp"
#include "support/elliptic_case.hpp"

namespace uzushio::linalg {
namespace {

using enum Condition;

struct Result {
    SolveReport report;
    double error = 0; ///< of this rank's values
};

/// Solve from zero for a random solution.
Result solve(const EllipticCase& c, std::string_view name, const IterationLimits& limits = {},
             MPI_Comm comm = MPI_COMM_WORLD) {
    const bool alone = comm == MPI_COMM_SELF;
    const int me = alone ? 0 : rank();
    const Equation equation = c.equation(alone ? 1 : ranks(), me);
    parallel::Traffic traffic;
    parallel::SectionMonitor sections;
    const auto solver = make_solver(name, comm, equation, limits, traffic, sections);
    const auto exact = random_solution(c, 7);
    const auto f = field_of(c, *equation.decomposition, me, applied(c, exact), 0);
    Field<double> x(*equation.decomposition, me, f.spec());
    const SolveReport report = solver->solve(f, x);
    return {report, difference(c, x, exact)};
}

/// Coefficient between 1 and 100 that jumps inside the box; periodic along k.
double jumping(std::size_t axis, const Index<3>& i) {
    return i[0] > 5 && i[1] > 4 ? 100.0 - static_cast<double>(axis) : 1.0;
}

std::vector<EllipticCase> cases() {
    const Ends p{periodic, periodic};
    const Ends n{neumann, neumann};
    const Ends d{dirichlet, dirichlet};
    EllipticCase stretched{{16, 12, 20}, {p, n, d}, {false, true, true}};
    EllipticCase variable{{16, 12, 8}, {n, Ends{neumann, dirichlet}, p}};
    variable.b = jumping;
    EllipticCase helmholtz{{13, 9, 11}, {n, n, Ends{dirichlet, neumann}}};
    helmholtz.s = 3;
    EllipticCase plane{{20, 24, 1}, {p, n, n}};
    plane.dimension = 2;
    plane.b = [](std::size_t, const Index<3>& i) { return i[1] > 9 ? 5.0 : 1.0; };
    return {
        {{16, 16, 16}, {n, n, n}}, {{15, 14, 9}, {p, d, n}}, stretched, variable, helmholtz, plane};
}

class Solver : public testing::TestWithParam<std::string> {};

TEST_P(Solver, FindsTheSolutionOfEachEquation) {
    const bool slow = GetParam().find("/") != std::string::npos || GetParam() == "sor";
    std::size_t number = 0;
    for (const EllipticCase& c : cases()) {
        if (slow && ranks() > 1 && ++number != 4)
            continue; // thousands of messages
        const auto [report, error] = solve(c, GetParam(), {1e-9, 5000});
        EXPECT_TRUE(report.converged) << "case " << number << ", residual " << report.residual;
        EXPECT_LE(report.residual, 1e-9);
        EXPECT_LT(error, 5e-6) << "case " << number; // the residual times the condition
        ++number;
    }
}

TEST_P(Solver, TakesTheSameIterationsOnAnyNumberOfRanks) {
    const auto all = cases();
    for (const std::size_t number : {2U, 3U}) {
        const auto together = solve(all[number], GetParam(), {1e-7, 5000});
        const auto alone = solve(all[number], GetParam(), {1e-7, 5000}, MPI_COMM_SELF);
        EXPECT_EQ(together.report.iterations, alone.report.iterations) << "case " << number;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Solver,
                         testing::Values("multigrid", "cg", "pipelined_cg", "bicgstab",
                                         "cg/diagonal", "pipelined_cg/diagonal",
                                         "bicgstab/diagonal", "sor"),
                         [](const auto& param) {
                             std::string name = param.param;
                             std::replace(name.begin(), name.end(), '/', '_');
                             return name;
                         });

TEST(Multigrid, ConvergesAsFastOnFineMeshesAsOnCoarseOnes) {
    const Ends d{dirichlet, dirichlet};
    for (const std::int64_t n : {8, 16, 32, 48}) {
        const auto result = solve({{n, n, n}, {d, d, d}}, "multigrid", {1e-8, 30});
        EXPECT_LE(result.report.iterations, 10) << n << " cells along each axis";
        EXPECT_LE(solve({{n, n, n}, {d, d, d}}, "cg", {1e-8, 30}).report.iterations, 8);
    }
}

TEST(Multigrid, JoinsCellsAlongNarrowAxesAlone) {
    const Ends d{dirichlet, dirichlet};
    const EllipticCase flat{{32, 32, 32}, {d, d, d}, {}, {1.0, 1.0, 0.02}};
    const auto joined = coarsened_axes(axes_of(flat.equation(1)));
    EXPECT_EQ(joined, (Coarsened{false, false, true}));
    EXPECT_LE(solve(flat, "cg", {1e-8, 50}).report.iterations, 12);
}

TEST(Jacobi, ReducesTheResidualAsTheTheoryOfItsEigenvaluesSays) {
    // The slowest mode of n cells between Dirichlet boundaries is damped by cos(pi / n) a step.
    const Ends d{dirichlet, dirichlet};
    const std::int64_t n = 8;
    const int few =
        solve({{n, n, n}, {d, d, d}, {}, {1, 1, 1}}, "jacobi", {1e-4, 5000}).report.iterations;
    const int many =
        solve({{n, n, n}, {d, d, d}, {}, {1, 1, 1}}, "jacobi", {1e-8, 5000}).report.iterations;
    const double factor = std::pow(1e-4, 1.0 / (many - few));
    EXPECT_NEAR(factor, std::cos(std::acos(-1.0) / n), 0.002);
}

TEST(PipelinedCg, ConvergesAsCgDoesOnThinAndStretchedMeshes) {
    const Ends n{neumann, neumann};
    EllipticCase thin{{2, 64, 1}, {n, n, n}, {}, {1, 1, 1}};
    thin.dimension = 2;
    EllipticCase column{{1, 1, 64}, {n, n, n}, {}, {1, 1, 1}};
    EllipticCase stretched{{31, 37, 1}, {n, n, n}, {true, true, false}, {1, 1, 1}};
    stretched.dimension = 2;
    for (const EllipticCase& c :
         {thin, column, stretched, EllipticCase{{40, 20, 10}, {n, n, n}, {true, true, true}}}) {
        const int expected = solve(c, "cg", {1e-10, 100}).report.iterations;
        const auto found = solve(c, "pipelined_cg", {1e-10, 100});
        EXPECT_TRUE(found.report.converged) << found.report.residual;
        EXPECT_LE(found.report.iterations, 3 * expected / 2 + 1);
    }
}

TEST(Relaxation, ConvergesOnPeriodicAxesWithAnOddNumberOfCells) {
    const Ends p{periodic, periodic};
    for (const Index<3>& cells : {Index<3>{9, 11, 1}, Index<3>{9, 12, 1}, Index<3>{5, 7, 3}}) {
        EllipticCase c{cells, {p, p, p}, {}, {1, 1, 1}};
        c.dimension = cells[2] == 1 ? 2 : 3;
        for (const char* name : {"sor", "jacobi"}) {
            const auto found = solve(c, name, {1e-9, 3000});
            EXPECT_TRUE(found.report.converged) << name << found.report.residual;
            EXPECT_LT(found.error, 1e-7) << name;
        }
    }
}

TEST(Solvers, ReportTheirPreconditioner) {
    const auto all = cases();
    for (const char* name : {"cg", "cg/diagonal", "pipelined_cg/diagonal", "bicgstab/diagonal"})
        EXPECT_EQ(solve(all[3], name, {1e-2, 500}).report.solver, name);
}

TEST(Solvers, AutoTakesTheDirectOneWhereItApplies) {
    const auto all = cases();
    EXPECT_EQ(solve(all[0], "auto").report.solver, "fft");
    EXPECT_EQ(solve(all[2], "auto").report.solver, "fft");
    EXPECT_EQ(solve(all[3], "auto").report.solver, "cg");
}

TEST(Solvers, ReportWhatDoesNotConverge) {
    const auto result = solve(cases()[1], "cg/diagonal", {1e-8, 3});
    EXPECT_FALSE(result.report.converged);
    EXPECT_EQ(result.report.iterations, 3);
    EXPECT_GT(result.report.residual, 1e-8);
}

TEST(Solvers, RefuseUnknownNamesAndRightHandSidesWithoutSolution) {
    EXPECT_THROW(solve(cases()[0], "gauss"), std::invalid_argument);
    const Ends n{neumann, neumann};
    const EllipticCase c{{8, 8, 8}, {n, n, n}};
    const Equation equation = c.equation(ranks(), rank());
    parallel::Traffic traffic;
    parallel::SectionMonitor sections;
    const auto solver = make_solver("cg", MPI_COMM_WORLD, equation, {}, traffic, sections);
    const auto f = field_of(c, *equation.decomposition, rank(), std::vector<double>(c.size(), 1.0));
    Field<double> x(*equation.decomposition, rank(), f.spec());
    EXPECT_THROW(solver->solve(f, x), std::invalid_argument);
}

// All operations are linear, so that a power of 2 changes the exponents of a solution alone.
TEST_P(Solver, SolvesForRightHandSidesOfAnyMagnitude) {
    const EllipticCase c = cases()[3];
    const Equation equation = c.equation(ranks(), rank());
    parallel::Traffic traffic;
    parallel::SectionMonitor sections;
    const auto solver =
        make_solver(GetParam(), MPI_COMM_WORLD, equation, {1e-7, 5000}, traffic, sections);
    auto values = applied(c, random_solution(c, 7));
    const auto solution = [&](double factor, int& iterations) {
        std::vector<double> scaled = values;
        for (double& value : scaled)
            value *= factor;
        const auto f = field_of(c, *equation.decomposition, rank(), scaled, 0);
        Field<double> x(*equation.decomposition, rank(), f.spec());
        const SolveReport report = solver->solve(f, x);
        EXPECT_TRUE(report.converged) << factor;
        iterations = report.iterations;
        return x;
    };
    int expected = 0, found = 0;
    const auto x = solution(1, expected);
    for (const int exponent : {-700, 700}) {
        const auto y = solution(std::ldexp(1.0, exponent), found);
        EXPECT_EQ(found, expected);
        for (std::size_t b = 0; b < x.blocks(); ++b)
            for_indices(x.owned(b), [&](const Index<3>& i) {
                EXPECT_EQ(y.view(b)(i), std::ldexp(x.view(b)(i), exponent));
            });
    }
}

TEST_P(Solver, SolvesAfterASolveWithValuesThatAreNotFinite) {
    const EllipticCase c = cases()[3];
    const Equation equation = c.equation(ranks(), rank());
    parallel::Traffic traffic;
    parallel::SectionMonitor sections;
    const auto solver =
        make_solver(GetParam(), MPI_COMM_WORLD, equation, {1e-9, 5000}, traffic, sections);
    const auto exact = random_solution(c, 7);
    const auto values = applied(c, exact);
    const auto f = field_of(c, *equation.decomposition, rank(), values, 0);
    Field<double> x(*equation.decomposition, rank(), f.spec());

    auto invalid = values;
    invalid[c.at({3, 4, 5})] = std::numeric_limits<double>::quiet_NaN(); // on one rank
    Field<double> g = field_of(c, *equation.decomposition, rank(), invalid, 0);
    EXPECT_THROW(solver->solve(g, x), std::invalid_argument);

    x = field_of(c, *equation.decomposition, rank(), invalid, 0);
    EXPECT_THROW(solver->solve(f, x), std::runtime_error);

    // Finite, but the sums of squares are not, after the first iteration at the latest.
    x = field_of(c, *equation.decomposition, rank(), std::vector<double>(c.size(), 1e154), 0);
    EXPECT_THROW(solver->solve(f, x), std::runtime_error);

    x = Field<double>(*equation.decomposition, rank(), f.spec());
    EXPECT_TRUE(solver->solve(f, x).converged);
    EXPECT_LT(difference(c, x, exact), 5e-6);
}

TEST(Solvers, RefuseArraysThatDoNotFitOnAllRanks) {
    for (const auto& [name, number] : {std::pair{"cg", 3U}, {"fft", 1U}}) {
        const Equation of = cases()[number].equation(ranks(), rank());
        parallel::Traffic traffic;
        parallel::SectionMonitor sections;
        const auto solver = make_solver(name, MPI_COMM_WORLD, of, {}, traffic, sections);
        const Field<double> f(*of.decomposition, rank(), {.name = "f"});
        const bool last = rank() == ranks() - 1;
        Field<double> x(*of.decomposition, rank(), {.name = "x", .components = last ? 2 : 1});
        EXPECT_THROW(solver->solve(f, x), std::invalid_argument);
    }
}

} // namespace
} // namespace uzushio::linalg
