// ranks: 1 2 3
#include <gtest/gtest.h>
#include <mpi.h>
#include <omp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "linalg/multigrid.hpp"
#include "linalg/slabs.hpp"
#include "linalg/solvers.hpp"
#include "support/elliptic_case.hpp"

namespace uzushio::linalg {
namespace {

using enum Condition;
constexpr Ends p{periodic, periodic}, n{neumann, neumann}, d{dirichlet, dirichlet};
constexpr std::array team_sizes{1, 2, 3};

/// Number of threads for the solvers that are made in a scope.
class Threads {
  public:
    explicit Threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
    ~Threads() { omp_set_num_threads(before_); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

  private:
    int before_;
};

std::vector<EllipticCase> cases() {
    EllipticCase variable{{32, 24, 100}, {n, Ends{neumann, dirichlet}, p}};
    variable.b = [](std::size_t axis, const Index<3>& i) {
        return i[0] > 5 && i[2] % 100 > 40 ? 5.0 - static_cast<double>(axis) : 1.0;
    };
    EllipticCase stretched{{16, 36, 90}, {p, n, d}, {false, true, true}};
    EllipticCase plane{{256, 200, 1}, {p, n, n}};
    plane.dimension = 2;
    plane.b = [](std::size_t, const Index<3>& i) { return i[1] > 9 ? 5.0 : 1.0; };
    return {
        {{32, 32, 80}, {d, d, d}}, // several slabs a rank, on the second level too
        variable,
        stretched,
        plane,
        {{21, 27, 99}, {p, p, p}}, // two neighbours of the same colour
        {{8, 300, 60}, {p, d, n}}, // more than one tile of rows
        {{64, 64, 5}, {d, n, n}},  // fewer planes than threads
        {{5, 3, 2}, {d, d, d}},    // less than a plane a thread
        {{40000, 1, 1}, {d, n, n}, {}, {1, 1, 1}, 0, 1},
    };
}

/// Return the solution for random values after a few iterations.
Field<double> solved(const EllipticCase& c, std::string_view name) {
    const Equation equation = c.equation(ranks(), rank());
    parallel::Traffic traffic;
    parallel::SectionMonitor sections;
    const auto solver = make_solver(name, MPI_COMM_WORLD, equation, {1e-12, 3}, traffic, sections);
    const auto f = field_of(c, *equation.decomposition, rank(), random_solution(c, 7), 0);
    Field<double> x(*equation.decomposition, rank(), f.spec());
    solver->solve(f, x);
    return x;
}

std::int64_t different_cells(const Field<double>& one, const Field<double>& other) {
    std::int64_t count = 0;
    for (std::size_t b = 0; b < one.blocks(); ++b)
        for_indices(one.owned(b), [&](const Index<3>& i) {
            count += one.view(b)(i) == other.view(b)(i) ? 0 : 1; // not if NaN
        });
    return count;
}

class SolverThreads : public testing::TestWithParam<std::string> {};

TEST_P(SolverThreads, DoNotChangeABitOfTheSolution) {
    std::size_t number = 0;
    for (EllipticCase c : cases()) {
        if (GetParam() == "cg/fft")
            c.b = [](std::size_t axis, const Index<3>& i) {
                return axis == 0 && i[0] == 3 && i[1] < 20 && i[2] > 30 ? 0.0 : 1.0;
            };
        std::vector<Field<double>> found;
        for (const int threads : team_sizes) {
            const Threads team(threads);
            found.push_back(solved(c, GetParam()));
        }
        for (std::size_t i = 1; i < found.size(); ++i)
            EXPECT_EQ(different_cells(found[i], found[0]), 0)
                << "case " << number << ", " << team_sizes[i] << " threads";
        ++number;
    }
}

INSTANTIATE_TEST_SUITE_P(Iterative, SolverThreads,
                         testing::Values("multigrid", "cg", "pipelined_cg", "bicgstab",
                                         "cg/diagonal", "pipelined_cg/diagonal",
                                         "bicgstab/diagonal", "jacobi", "sor", "cg/fft"),
                         [](const auto& param) {
                             std::string name = param.param;
                             std::replace(name.begin(), name.end(), '/', '_');
                             return name;
                         });

TEST(MultigridThreads, GiveTheBitsOfOneRankOnSeveral) {
    const EllipticCase c = cases()[1];
    const Equation equation = c.equation(1);
    parallel::Traffic traffic;
    parallel::SectionMonitor sections;
    const auto cycle = make_multigrid({MPI_COMM_SELF, equation, {}, traffic, sections}, {});
    const Threads team(3);
    const Equation shared = c.equation(ranks(), rank());
    const auto together = make_multigrid({MPI_COMM_WORLD, shared, {}, traffic, sections}, {});
    const auto r = random_solution(c, 5);
    for (auto* one : {cycle.get(), together.get()}) {
        auto& input = one->input();
        for (std::size_t b = 0; b < input.blocks(); ++b)
            for_indices(input.owned(b), [&](const Index<3>& i) {
                input.view(b)(i) = static_cast<float>(r[c.at(i)]);
            });
        one->apply();
    }
    const auto& all = cycle->output();
    const auto& part = together->output();
    for (std::size_t b = 0; b < part.blocks(); ++b)
        for_indices(part.owned(b),
                    [&](const Index<3>& i) { ASSERT_EQ(part.view(b)(i), all.view(0)(i)); });
}

TEST(Slabs, HoldEachPlaneOfAStageOnceAndBothPlanesOfAPair) {
    for (const std::int64_t lower : {0, 3, 40})
        for (const std::int64_t planes : {1, 15, 16, 17, 99}) {
            const Box<3> last{{0, 0, lower}, {64, 64, lower + planes}};
            for (const int stages : {1, 2, 4}) {
                const Slabs slabs(last, 5, stages);
                EXPECT_EQ(slabs.axis(), planes > 1 ? 2U : 1U);
                for (int stage = 0; stage < stages; ++stage) {
                    const Box<3> all = last.grown({0, 0, stages - 1 - stage});
                    std::int64_t begin = all.lower[slabs.axis()];
                    for (int slab = 0; slab < slabs.count(); ++slab) {
                        const Box<3> part = slabs.part(all, slab, stage);
                        EXPECT_EQ(part.lower[slabs.axis()], begin);
                        EXPECT_GT(part.extent(slabs.axis()), stages);
                        EXPECT_TRUE(slab == 0 || stage < stages - 1 || begin % 2 == 0);
                        begin = part.upper[slabs.axis()];
                    }
                    EXPECT_EQ(begin, all.upper[slabs.axis()]);
                }
            }
        }
}

} // namespace
} // namespace uzushio::linalg
