// ranks: 1 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>

#include "linalg/solvers.hpp"
#include "support/elliptic_case.hpp"

namespace uzushio::linalg {
namespace {

using enum Condition;
using Inside = std::function<bool(const Index<3>&)>;

/// Box with Neumann conditions on all sides and a body, on whose cells all faces have b = 0.
struct Blocked {
    EllipticCase box;
    Inside inside;

    Blocked(std::int64_t cells, bool stretched, Inside body) : inside(std::move(body)) {
        const Ends n{neumann, neumann};
        box = {.cells = {cells, cells, cells},
               .ends = {n, n, n},
               .stretched = {stretched, stretched, stretched},
               .lengths = {1, 1, 1}};
        box.b = [in = inside](std::size_t axis, const Index<3>& index) {
            Index<3> below = index;
            below[axis] -= 1;
            return in(index) || in(below) ? 0.0 : 1.0;
        };
    }
    /// Return random values that are 0 in the body and have no mean outside.
    [[nodiscard]] std::vector<double> solution() const {
        auto x = random_solution(box, 3);
        const auto axes = axes_of(box.equation(1));
        double sum = 0, volume = 0;
        const auto outside = [&](auto&& visit) {
            for_indices(Box<3>::of(box.cells), [&](const Index<3>& i) {
                double cell = 1;
                for (std::size_t a = 0; a < 3; ++a)
                    cell *= axes[a].widths[std::size_t(i[a])];
                if (inside(i))
                    x[box.at(i)] = 0;
                else
                    visit(x[box.at(i)], cell);
            });
        };
        outside([&](double value, double cell) {
            sum += value * cell;
            volume += cell;
        });
        outside([&](double& value, double) { value -= sum / volume; });
        return x;
    }
};

Inside sphere(std::int64_t cells) {
    return [n = static_cast<double>(cells)](const Index<3>& i) {
        double square = 0;
        for (const std::int64_t at : i)
            square += std::pow((static_cast<double>(at) + 0.5) / n - 0.45, 2);
        return square < 0.25 * 0.25;
    };
}

/// Plate of one cell across k, between whose edges and the walls the fluid is connected.
Inside plate(std::int64_t cells, std::int64_t at) {
    return [=](const Index<3>& i) {
        return i[2] == at && i[0] >= cells / 4 && i[0] < 3 * cells / 4 && i[1] >= cells / 4 &&
               i[1] < 3 * cells / 4;
    };
}

struct Result {
    SolveReport report;
    double error = 0;  ///< largest, of all ranks
    double inside = 0; ///< largest magnitude of x in the body
};

Result solve(const Blocked& c, std::string_view name, const IterationLimits& limits) {
    const Equation equation = c.box.equation(ranks(), rank());
    parallel::Traffic traffic;
    parallel::SectionMonitor sections;
    const auto solver = make_solver(name, MPI_COMM_WORLD, equation, limits, traffic, sections);
    const auto exact = c.solution();
    const auto f = field_of(c.box, *equation.decomposition, rank(), applied(c.box, exact), 0);
    // The solve does not begin with these values in the body.
    auto x =
        field_of(c.box, *equation.decomposition, rank(), std::vector<double>(c.box.size(), 0.5), 0);
    const SolveReport report = solver->solve(f, x);
    std::array<double, 2> all{difference(c.box, x, exact), 0};
    for (std::size_t b = 0; b < x.blocks(); ++b)
        for_indices(x.owned(b), [&](const Index<3>& i) {
            if (c.inside(i))
                all[1] = std::max(all[1], std::abs(x.view(b)(i)));
        });
    MPI_Allreduce(MPI_IN_PLACE, all.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return {report, all[0], all[1]};
}

class BlockedCells : public testing::TestWithParam<std::string> {};

TEST_P(BlockedCells, KeepZeroWhileTheOthersAreSolvedWithZeroMean) {
    const bool relaxation = GetParam() == "jacobi" || GetParam() == "sor";
    const std::int64_t n = relaxation ? 8 : 16;
    for (const bool stretched : {false, true}) {
        const Blocked c(n, stretched, sphere(n));
        const double tolerance = relaxation ? 1e-5 : 1e-9;
        const auto found = solve(c, GetParam(), {tolerance, 5000});
        EXPECT_TRUE(found.report.converged) << found.report.residual;
        EXPECT_EQ(found.inside, 0);
        EXPECT_LT(found.error, 1e3 * tolerance);
    }
}

INSTANTIATE_TEST_SUITE_P(All, BlockedCells,
                         testing::Values("multigrid", "cg", "pipelined_cg", "bicgstab",
                                         "cg/diagonal", "jacobi", "sor"),
                         [](const auto& param) {
                             std::string name = param.param;
                             std::replace(name.begin(), name.end(), '/', '_');
                             return name;
                         });

TEST(MultigridCycle, NeedsHardlyMoreIterationsForBodiesOnAnyMesh) {
    const auto iterations = [](const Blocked& c) {
        return solve(c, "cg", {1e-8, 60}).report.iterations;
    };
    for (const std::int64_t n : {16, 32}) {
        EXPECT_LE(iterations({n, false, sphere(n)}), 7) << n << " cells along each axis";
        // Coarse cells join the sides of a plate, at an odd cell on the first coarse level.
        EXPECT_LE(iterations({n, false, plate(n, n / 2)}), 8) << n << " cells along each axis";
        EXPECT_LE(iterations({n, false, plate(n, n / 2 - 3)}), 11) << n << " cells along each axis";
    }
    const int without = iterations({16, true, [](const Index<3>&) { return false; }});
    EXPECT_LE(iterations({16, true, sphere(16)}), without + 1);
    EXPECT_LE(iterations({16, true, plate(16, 5)}), without + 1);
}

/// Box whose faces with b = 0 close off the cells with index `first` and more along an axis, which
/// exchange nothing with the others.
struct SplitBox {
    EllipticCase box;
    std::size_t axis;
    std::int64_t first;
    bool dirichlet_below; ///< the value is given at a face of the lower part

    SplitBox(std::size_t along, bool given) : axis(along), first(3), dirichlet_below(given) {
        const Ends n{neumann, neumann};
        box = {.cells = {8, 10, 6}, .ends = {n, n, n}, .stretched = {true, false, true}};
        if (given)
            box.ends[along][0] = dirichlet;
        box.b = [along, at = first](std::size_t a, const Index<3>& face) {
            return a == along && face[a] == at ? 0.0 : 1.0;
        };
    }
    [[nodiscard]] bool is_upper(const Index<3>& i) const { return i[axis] >= first; }
    [[nodiscard]] double volume(const Index<3>& i) const {
        const auto axes = axes_of(box.equation(1));
        double product = 1;
        for (std::size_t a = 0; a < 3; ++a)
            product *= axes[a].widths[std::size_t(i[a])];
        return product;
    }
    /// Return random values without mean in each part where constants are solutions.
    [[nodiscard]] std::vector<double> solution() const {
        auto x = random_solution(box, 5);
        std::array<double, 2> sum{}, all{};
        for_indices(Box<3>::of(box.cells), [&](const Index<3>& i) {
            sum[is_upper(i)] += volume(i) * x[box.at(i)];
            all[is_upper(i)] += volume(i);
        });
        for_indices(Box<3>::of(box.cells), [&](const Index<3>& i) {
            if (is_upper(i) || !dirichlet_below)
                x[box.at(i)] -= sum[is_upper(i)] / all[is_upper(i)];
        });
        return x;
    }
};

class SplitBoxes : public testing::TestWithParam<std::string> {};

TEST_P(SplitBoxes, AreSolvedWithZeroMeanInEach) {
    for (const bool given : {false, true})
        for (const std::size_t axis : {0U, 2U}) {
            const SplitBox split(axis, given);
            const Equation equation = split.box.equation(ranks(), rank());
            parallel::Traffic traffic;
            parallel::SectionMonitor sections;
            const auto solver =
                make_solver(GetParam(), MPI_COMM_WORLD, equation, {1e-9, 5000}, traffic, sections);
            const auto exact = split.solution();
            const auto f =
                field_of(split.box, *equation.decomposition, rank(), applied(split.box, exact), 0);
            Field<double> x(*equation.decomposition, rank(), f.spec());
            const auto report = solver->solve(f, x);
            EXPECT_TRUE(report.converged) << report.solver << ' ' << report.residual;
            EXPECT_LT(difference(split.box, x, exact), 1e-6);
        }
}

TEST_P(SplitBoxes, RefuseARightHandSideThatBalancesOnlyInTotal) {
    for (const bool given : {false, true}) {
        const SplitBox split(1, given);
        const Equation equation = split.box.equation(ranks(), rank());
        parallel::Traffic traffic;
        parallel::SectionMonitor sections;
        const auto solver =
            make_solver(GetParam(), MPI_COMM_WORLD, equation, {1e-9, 50}, traffic, sections);
        auto values = applied(split.box, split.solution());
        values[split.box.at({2, 1, 2})] += 1 / split.volume({2, 1, 2});
        values[split.box.at({2, 7, 2})] -= 1 / split.volume({2, 7, 2});
        const auto f = field_of(split.box, *equation.decomposition, rank(), values, 0);
        Field<double> x(*equation.decomposition, rank(), f.spec());
        try {
            solver->solve(f, x);
            FAIL() << "no error";
        } catch (const std::invalid_argument& error) {
            const std::string text = error.what();
            const std::string cell = given ? "(0, 3, 0)" : "(0, 0, 0)";
            EXPECT_NE(text.find("close off a region"), std::string::npos) << text;
            EXPECT_NE(text.find("around cell " + cell), std::string::npos) << text;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, SplitBoxes,
                         testing::Values("auto", "multigrid", "cg", "pipelined_cg", "bicgstab",
                                         "cg/fft", "jacobi", "sor"),
                         [](const auto& param) {
                             std::string name = param.param;
                             std::replace(name.begin(), name.end(), '/', '_');
                             return name;
                         });

TEST(BlockedRightHandSide, RefusesARightHandSideOtherThanZero) {
    for (const Condition end : {neumann, dirichlet}) {
        Blocked c(8, false, sphere(8));
        c.box.ends[0] = {end, end};
        const Equation equation = c.box.equation(ranks(), rank());
        parallel::Traffic traffic;
        parallel::SectionMonitor sections;
        const auto solver = make_solver("cg", MPI_COMM_WORLD, equation, {}, traffic, sections);
        auto values = applied(c.box, c.solution());
        values[c.box.at({3, 3, 3})] = 1;
        const auto f = field_of(c.box, *equation.decomposition, rank(), values, 0);
        Field<double> x(*equation.decomposition, rank(), f.spec());
        try {
            solver->solve(f, x);
            FAIL() << "no error";
        } catch (const std::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find("all of whose faces b is 0"),
                      std::string::npos);
        }
    }
}

} // namespace
} // namespace uzushio::linalg
