// ranks: 1 2 3 5
#include <gtest/gtest.h>
#include <mpi.h>
#include <omp.h>

#include <cstdlib>
#include <numbers>

#include "domain/mesh_error.hpp"
#include "linalg/fft_solver.hpp"
#include "support/elliptic_case.hpp"

namespace uzushio::linalg {
namespace {

using enum Condition;
using domain::MeshError;

/// How the solver of a test is made.
struct HowMade {
    int ghosts = 1;
    ColumnScheme scheme = ColumnScheme::transposed;
    MPI_Comm comm = MPI_COMM_WORLD;
};

/// Solve for the solution `x` on all ranks; return the field.
Field<double> solved(const EllipticCase& c, const Equation& equation,
                     const std::vector<double>& f_values, const HowMade& how = {}) {
    const int me = how.comm == MPI_COMM_SELF ? 0 : rank();
    parallel::Traffic traffic;
    parallel::SectionMonitor sections;
    const auto solver = make_fft_solver(how.comm, equation, traffic, sections, how.scheme);
    const auto& decomposition = *equation.decomposition;
    const auto f = field_of(c, decomposition, me, f_values, how.ghosts);
    Field<double> x(decomposition, me, f.spec());
    const auto report = solver->solve(f, x);
    EXPECT_EQ(report.solver, how.scheme == ColumnScheme::transposed ? "fft" : "fft/partitioned");
    EXPECT_EQ(difference(c, f, f_values), 0) << "the right-hand side has changed";
    return x;
}

/// The solver with each scheme of the tridiagonal systems.
class FftSolver : public testing::TestWithParam<ColumnScheme> {
  protected:
    [[nodiscard]] HowMade made(int ghosts = 1) const { return {ghosts, GetParam()}; }
};

INSTANTIATE_TEST_SUITE_P(Schemes, FftSolver,
                         testing::Values(ColumnScheme::transposed, ColumnScheme::partitioned),
                         [](const testing::TestParamInfo<ColumnScheme>& tested) {
                             return tested.param == ColumnScheme::transposed ? "transposed"
                                                                             : "partitioned";
                         });

TEST_P(FftSolver, InvertsTheOperatorWithEveryMixOfConditions) {
    unsigned seed = 0;
    for (const Ends& i : all_ends())
        for (const Ends& j : all_ends())
            for (const Ends& k : all_ends()) {
                if (++seed % 7 != 0 && ranks() > 1)
                    continue; // every kind of transform and redistribution, but not every mix
                const bool odd = seed % 2 == 0;
                const EllipticCase c{odd ? Index<3>{7, 9, 5} : Index<3>{8, 20, 6}, {i, j, k}};
                const auto x = random_solution(c, seed);
                const auto field =
                    solved(c, c.equation(ranks()), applied(c, x), made(static_cast<int>(seed % 3)));
                EXPECT_LT(difference(c, field, x), 1e-11)
                    << "conditions " << (seed - 1) / 25 << (seed - 1) / 5 % 5 << (seed - 1) % 5;
            }
}

TEST_P(FftSolver, SolvesHelmholtzEquationsOnCellsStretchedAlongOneAxis) {
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (const Ends& ends : all_ends())
            for (const double s : {0.0, 2.5, 1e4}) {
                EllipticCase c{{12, 10, 14},
                               {Ends{periodic, periodic}, {neumann, neumann}, {neumann, neumann}}};
                c.ends[axis] = ends;
                c.stretched[axis] = true;
                c.s = s;
                const auto x = random_solution(c, 3);
                const auto field = solved(c, c.equation(ranks()), applied(c, x), made());
                EXPECT_LT(difference(c, field, x), 1e-11) << "axis " << axis << ", s " << s;
            }
}

TEST_P(FftSolver, SolvesOnCellsStretchedAlongSeveralAxes) {
    unsigned seed = 0;
    for (const Ends& i : all_ends())
        for (const Ends& j : all_ends())
            for (const Ends& k : all_ends())
                for (const int uniform : {0, 1, 2, 3}) {
                    EllipticCase c{{9, 14, 11}, {i, j, k}};
                    int periodic_axes = 0;
                    for (int a = 0; a < 3; ++a) {
                        const auto axis = static_cast<std::size_t>(a);
                        c.stretched[axis] = a != uniform;
                        periodic_axes += a != uniform && c.ends[axis][0] == periodic ? 1 : 0;
                    }
                    if (++seed % 7 != 0 || periodic_axes > 1)
                        continue;
                    const auto x = random_solution(c, seed);
                    const auto field = solved(c, c.equation(ranks()), applied(c, x), made());
                    EXPECT_LT(difference(c, field, x), 1e-10) << "number " << seed;
                }
}

TEST(DirectSolver, HasTheSameBitsOnAnyNumberOfRanks) {
    for (const int stretched : {0, 1, 3}) {
        EllipticCase c{{36, 18, 23},
                       {Ends{periodic, periodic}, {neumann, dirichlet}, {neumann, neumann}}};
        c.stretched[1] = stretched > 0;
        if (stretched > 0)
            c.ends[2] = {dirichlet, dirichlet};
        if (stretched == 3) {
            c.stretched = {true, true, true};
            c.ends[0] = {neumann, dirichlet};
        }
        const auto f = applied(c, random_solution(c, 5));
        const auto alone = solved(c, c.equation(1), f, {.comm = MPI_COMM_SELF});
        std::vector<double> values(c.size());
        for_indices(alone.owned(0), [&](const auto& i) { values[c.at(i)] = alone.view(0)(i); });
        EXPECT_EQ(difference(c, solved(c, c.equation(ranks()), f), values), 0);
    }
}

TEST_P(FftSolver, HasTheSameBitsOnAnyNumberOfThreads) {
    for (const bool wraps : {false, true}) {
        // So many cells that several threads of each rank have a part.
        EllipticCase c{{68, 54, 61}, {Ends{periodic, periodic}, {neumann, neumann}, {}}};
        c.ends[2] = wraps ? Ends{periodic, periodic} : Ends{neumann, neumann};
        c.stretched[2] = true;
        const auto x = random_solution(c, 5);
        const int usual = omp_get_max_threads();
        std::vector<Field<double>> found;
        for (const int threads : {1, 2, 5}) {
            omp_set_num_threads(threads);
            found.push_back(solved(c, c.equation(ranks()), applied(c, x), made()));
        }
        omp_set_num_threads(usual);
        EXPECT_LT(difference(c, found[0], x), 1e-11);
        for (std::size_t b = 0; b < found[0].blocks(); ++b)
            for_indices(found[0].owned(b), [&](const auto& i) {
                EXPECT_EQ(found[1].view(b)(i), found[0].view(b)(i));
                EXPECT_EQ(found[2].view(b)(i), found[0].view(b)(i));
            });
    }
}

TEST(DirectSolver, HasTheSameBitsWherePairsOfColumnsMeetBordersOfRanks) {
    // Seven and five columns a rank in two dimensions, if they were cut evenly.
    for (const Index<3>& cells : {Index<3>{20, 24, 1}, Index<3>{15, 21, 1}, Index<3>{7, 3, 2}}) {
        EllipticCase c{cells, {Ends{periodic, periodic}, {neumann, neumann}, {neumann, neumann}}};
        c.dimension = cells[2] == 1 ? 2 : 3;
        const auto f = applied(c, random_solution(c, 5));
        const auto alone = solved(c, c.equation(1), f, {.comm = MPI_COMM_SELF});
        std::vector<double> values(c.size());
        for_indices(alone.owned(0), [&](const auto& i) { values[c.at(i)] = alone.view(0)(i); });
        EXPECT_EQ(difference(c, solved(c, c.equation(ranks()), f), values), 0);
    }
}

TEST_P(FftSolver, SolvesOnMoreRanksThanPlanesAndOnAnyBlocks) {
    const EllipticCase flat{{16, 3, 2},
                            {Ends{neumann, neumann}, {periodic, periodic}, {dirichlet, neumann}}};
    const auto x = random_solution(flat, 9);
    EXPECT_LT(difference(flat, solved(flat, flat.equation(ranks()), applied(flat, x), made()), x),
              1e-12);

    const EllipticCase c{{16, 12, 10},
                         {Ends{neumann, neumann}, {neumann, neumann}, {neumann, neumann}}};
    std::vector<domain::Block> blocks; // eight, of which the last rank may have none
    for (std::int64_t b = 0; b < 8; ++b) {
        const Index<3> at{b % 2 * 7, b / 2 % 2 * 5, b / 4 * 3};
        const Index<3> end{b % 2 ? 16 : 7, b / 2 % 2 ? 12 : 5, b / 4 ? 10 : 3};
        blocks.push_back({0, 0, static_cast<int>(b) % std::max(1, ranks() - 1), {at, end}});
    }
    const auto y = random_solution(c, 11);
    const Equation equation = c.equation(Decomposition(c.mesh(), blocks, ranks()));
    EXPECT_LT(difference(c, solved(c, equation, applied(c, y), made()), y), 1e-12);
}

/// Return the largest error for u = cos(pi x) sin(2 pi y) cos(3 pi z) on [0, 1]^3, where z is
/// stretched, with the value given at y = 0 and the derivative 0 at x = 0 and z = 0.
double error(std::int64_t n, const HowMade& how) {
    EllipticCase c{{n, n, n}, {Ends{neumann, neumann}, {dirichlet, dirichlet}, {neumann, neumann}}};
    c.lengths = {1, 1, 1};
    c.stretched[2] = true;
    const double pi = std::numbers::pi;
    std::array<std::vector<double>, 3> centres;
    for (std::size_t a = 0; a < 3; ++a) {
        const auto faces = faces_of(n, 1, c.stretched[a]);
        for (std::size_t i = 0; i + 1 < faces.size(); ++i)
            centres[a].push_back(0.5 * (faces[i] + faces[i + 1]));
    }
    std::vector<double> exact(c.size());
    std::vector<double> f(c.size());
    for_indices(Box<3>::of(c.cells), [&](const Index<3>& i) {
        const double plane = std::cos(pi * centres[0][std::size_t(i[0])]) *
                             std::sin(2 * pi * centres[1][std::size_t(i[1])]);
        const double z = centres[2][std::size_t(i[2])];
        exact[c.at(i)] = plane * std::cos(3 * pi * z);
        f[c.at(i)] = -14 * pi * pi * exact[c.at(i)];
    });
    double local = difference(c, solved(c, c.equation(ranks()), f, how), exact);
    MPI_Allreduce(MPI_IN_PLACE, &local, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return local;
}

TEST_P(FftSolver, ConvergesWithSecondOrderToTheSolutionOfPoissonsEquation) {
    const double coarse = error(16, made());
    const double fine = error(32, made());
    EXPECT_NEAR(std::log2(coarse / fine), 2.0, 0.1);
    EXPECT_LT(fine, 0.03);
}

TEST(DirectSolver, ExchangesTwoPlanesOfEachRankIfPartitioned) {
    const auto sent = [](std::int64_t planes, ColumnScheme scheme) {
        EllipticCase c{{16, 16, planes},
                       {Ends{periodic, periodic}, {periodic, periodic}, {neumann, dirichlet}}};
        parallel::Traffic traffic;
        parallel::SectionMonitor sections;
        // Slabs of planes, as the solver has them.
        std::vector<domain::Block> blocks;
        for (int r = 0; r < ranks(); ++r) {
            const auto part = parallel::block(static_cast<int>(planes), ranks(), r);
            blocks.push_back({0, 0, r, {{0, 0, part.begin}, {16, 16, part.end}}});
        }
        const auto equation = c.equation(Decomposition(c.mesh(), blocks, ranks()));
        const auto solver = make_fft_solver(MPI_COMM_WORLD, equation, traffic, sections, scheme);
        const auto& decomposition = *equation.decomposition;
        const auto f = field_of(c, decomposition, rank(), applied(c, random_solution(c, 2)), 0);
        Field<double> x(decomposition, rank(), f.spec());
        traffic.reset();
        solver->solve(f, x);
        return std::pair(traffic[parallel::Exchange::redistribution].bytes,
                         traffic[parallel::Exchange::interfaces].bytes);
    };
    const auto shared = sent(30, ColumnScheme::transposed);
    EXPECT_EQ(shared, (std::pair<std::int64_t, std::int64_t>(0, 0)))
        << "columns are in shared memory";
    setenv("UZUSHIO_TRAFFIC", "counted.mtx", 1);
    const auto [whole, none] = sent(30, ColumnScheme::transposed);
    unsetenv("UZUSHIO_TRAFFIC");
    EXPECT_EQ(none, 0);
    const auto [moved, interfaces] = sent(30, ColumnScheme::partitioned);
    EXPECT_EQ(moved, 0) << "planes stay where they are";
    EXPECT_EQ(sent(60, ColumnScheme::partitioned).second, interfaces) << "whatever their number";
    EXPECT_EQ(whole > 0, ranks() > 1);
    const int own = parallel::block(16 * 16, ranks(), rank()).size();
    EXPECT_EQ(interfaces, 8 * (2 * (256 - own) + 2 * (ranks() - 1) * own));
}

TEST(DirectSolver, IsFastUnlessAMatrixIsLarge) {
    EllipticCase c{{2, 514, 600}, {Ends{neumann, neumann}, {neumann, neumann}, {neumann, neumann}}};
    c.stretched[2] = true;
    EXPECT_TRUE(is_fft_fast(c.equation(ranks())));
    c.stretched[1] = true;
    EXPECT_FALSE(is_fft_fast(c.equation(ranks())));
}

TEST(DirectSolver, RefusesWhatItCannotSolve) {
    EllipticCase c{{8, 8, 8}, {Ends{neumann, neumann}, {neumann, neumann}, {periodic, periodic}}};
    const std::vector<double> ones(c.size(), 1.0);
    try {
        static_cast<void>(solved(c, c.equation(ranks()), ones));
        FAIL() << "an integral of 1 has no solution between Neumann boundaries";
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("the equation has no solution"),
                  std::string::npos);
    }
    parallel::Traffic traffic;
    parallel::SectionMonitor sections;
    c.stretched = {true, true, true};
    c.ends[0] = {periodic, periodic};
    EXPECT_THROW(make_fft_solver(MPI_COMM_WORLD, c.equation(ranks()), traffic, sections),
                 std::invalid_argument);
    Equation unknown = c.equation(ranks());
    unknown.conditions.clear();
    EXPECT_THROW(static_cast<void>(axes_of(unknown)), MeshError);
    Equation negative = c.equation(ranks());
    negative.s = -1;
    EXPECT_THROW(static_cast<void>(axes_of(negative)), std::invalid_argument);
}

} // namespace
} // namespace uzushio::linalg
