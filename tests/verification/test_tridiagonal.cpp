// Every tridiagonal scheme passes this suite on every number of ranks.
// ranks: 1 2 3 5
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "solvers/channel/thomas.hpp"
#include "solvers/channel/tridiagonal.hpp"

namespace uzushio::channel {
namespace {

using parallel::Range;

constexpr int planes = 13; // divides by no number of ranks but one

/// Return coefficients of a diffusion-like matrix with different rows.
Rows some_rows(int count = planes) {
    Rows rows;
    std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(0.5, 1.5);
    for (int k = 0; k < count; ++k) {
        rows.lower.push_back(k > 0 ? -uniform(random) : 0.0);
        rows.upper.push_back(k + 1 < count ? -uniform(random) : 0.0);
        rows.diagonal.push_back(1.0 - rows.lower.back() - rows.upper.back());
        rows.weight.push_back(uniform(random));
    }
    return rows;
}

/// Return the exact solution, a function of the indices.
double exact(int unknown, int k, int m, bool imaginary) {
    return std::sin(1.0 + k + 0.37 * (m % 97) + 2.1 * unknown + (imaginary ? 0.8 : 0.0));
}

class Scheme : public testing::TestWithParam<std::tuple<std::string, int>> {
  protected:
    [[nodiscard]] int modes() const { return std::get<1>(GetParam()); }

    static int ranks() {
        int size = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        return size;
    }

    /// Set `x` to the right-hand side of the exact solution, for the rows of this rank.
    void set_right_hand_side(const Rows& rows, const Planes& x, int unknown) const {
        for (int local = 0; local < x.planes; ++local) {
            const int k = mine_.begin + local;
            const auto i = static_cast<std::size_t>(k);
            for (int m = 0; m < modes(); ++m)
                for (const bool imaginary : {false, true}) {
                    double value =
                        (rows.diagonal[i] + rows.weight[i] * shift_[static_cast<std::size_t>(m)]) *
                        exact(unknown, k, m, imaginary);
                    if (k > 0)
                        value += rows.lower[i] * exact(unknown, k - 1, m, imaginary);
                    if (k + 1 < planes)
                        value += rows.upper[i] * exact(unknown, k + 1, m, imaginary);
                    (imaginary ? x.im(local) : x.re(local))[m] = value;
                }
        }
    }

    void expect_exact(const Planes& x, int unknown) const {
        const int above = mine_.end < planes ? x.planes + 1 : x.planes; // the ghost plane too
        for (int local = 0; local < above; ++local)
            for (int m = 0; m < modes(); ++m) {
                const int k = mine_.begin + local;
                ASSERT_NEAR(x.re(local)[m], exact(unknown, k, m, false), 1e-13) << k << ' ' << m;
                ASSERT_NEAR(x.im(local)[m], exact(unknown, k, m, true), 1e-13) << k << ' ' << m;
            }
    }

    void SetUp() override {
        for (int m = 0; m < modes(); ++m)
            shift_.push_back(0.01 * m * m);
    }

    ProcessGrid grid_{MPI_COMM_WORLD, 1, ranks()};
    Range mine_ = parallel::block(planes, ranks(), grid_.column().rank());
    std::vector<double> shift_;
    parallel::SectionMonitor sections_;
    parallel::Traffic traffic_;
};

TEST_P(Scheme, FindsTheExactSolutionsAndTheGhostPlaneAbove) {
    const auto rows = some_rows();
    Rows others = rows;
    for (auto& diagonal : others.diagonal)
        diagonal += 1.0;
    Fields u(1, mine_.size(), modes()), v(1, mine_.size(), modes()), w(1, mine_.size(), modes());
    Fields factors(1, mine_.size(), modes()), factors_w(1, mine_.size(), modes());
    auto solver = make_tridiagonal(std::get<0>(GetParam()),
                                   {grid_, planes, modes(), 1, 8, sections_, traffic_});

    // Given right-hand sides that are made chunk by chunk, as the flow solver does, twice over.
    for (int repeat = 0; repeat < 2; ++repeat) {
        std::vector<int> before(static_cast<std::size_t>(modes())), after(before);
        set_right_hand_side(rows, u.view(), 0);
        set_right_hand_side(rows, v.view(), 1);
        set_right_hand_side(others, w.view(), 2);
        const auto count = [](std::vector<int>& seen) {
            return [&seen](Range chunk) {
                for (int m = chunk.begin; m < chunk.end; ++m)
                    seen[static_cast<std::size_t>(m)] += 1;
            };
        };
        const SolveStage stages[] = {{{{&rows, shift_.data(), {u.view(), v.view()}, factors.view()},
                                       {&others, shift_.data(), {w.view()}, factors_w.view()}},
                                      {},
                                      count(before),
                                      count(after)}};
        solver->solve(stages);

        expect_exact(u.view(), 0);
        expect_exact(v.view(), 1);
        expect_exact(w.view(), 2);
        for (const auto& seen : {before, after})
            for (const int times : seen)
                EXPECT_EQ(times, 1);
    }
}

TEST_P(Scheme, TransposesTwicePerUnknownOrNotAtAll) {
    const auto rows = some_rows();
    Fields x(1, mine_.size(), modes()), factors(1, mine_.size(), modes());
    const std::string scheme = std::get<0>(GetParam());
    auto solver = make_tridiagonal(scheme, {grid_, planes, modes(), 1, 3, sections_, traffic_});
    set_right_hand_side(rows, x.view(), 0);
    const SolveStage stages[] = {
        {{{&rows, shift_.data(), {x.view()}, factors.view()}}, {}, nullptr, nullptr}};
    solver->solve(stages);

    const auto& transposes = traffic_[parallel::Exchange::transpose_z];
    const auto& shifts = traffic_[parallel::Exchange::column_shift];
    const bool several = ranks() > 1;
    EXPECT_EQ(transposes.exchanges, several && scheme == "transpose" ? 2 : 0);
    EXPECT_EQ(shifts.exchanges > 0, several && scheme == "pipelined");
    const auto& interfaces = traffic_[parallel::Exchange::interfaces];
    EXPECT_EQ(interfaces.exchanges, several && scheme == "partitioned" ? 2 : 0);
    // Two rows of factors and values, and three solutions: not a multiple of the planes.
    EXPECT_LE(interfaces.bytes, 8 * modes() * (2 * 4 + 3 * 2));
}

INSTANTIATE_TEST_SUITE_P(All, Scheme,
                         testing::Combine(testing::Values("pipelined", "transpose", "partitioned"),
                                          testing::Values(5, 300, 2500)),
                         [](const auto& scheme) {
                             return std::get<0>(scheme.param) + "_" +
                                    std::to_string(std::get<1>(scheme.param));
                         });

TEST(SolveOne, FindsTheExactSolutionAndCallsWithFinalRowsFromTheLast) {
    const auto rows = some_rows();
    std::vector<double> x, factors(planes), final_rows;
    for (int k = 0; k < planes; ++k) {
        const auto i = static_cast<std::size_t>(k);
        x.push_back(rows.lower[i] * exact(0, k - 1, 0, false) +
                    rows.diagonal[i] * exact(0, k, 0, false) +
                    rows.upper[i] * exact(0, k + 1, 0, false));
    }
    solve_one(rows, x, factors, [&](std::size_t k) {
        EXPECT_EQ(k + final_rows.size() + 1, x.size());
        final_rows.push_back(x[k]);
    });
    for (int k = 0; k < planes; ++k) {
        EXPECT_NEAR(x[static_cast<std::size_t>(k)], exact(0, k, 0, false), 1e-13) << k;
        EXPECT_EQ(x[static_cast<std::size_t>(k)],
                  final_rows[static_cast<std::size_t>(planes - 1 - k)]);
    }
}

// Some ranks have one plane, of which both neighbours are on other ranks.
TEST(TridiagonalSchemes, FindTheSameSolutionsWithOnePlaneARank) {
    int size = 0, rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int rows_of_all = size + 1, modes = 7;
    const Rows rows = some_rows(rows_of_all);
    const ProcessGrid grid(MPI_COMM_WORLD, 1, size);
    const Range mine = parallel::block(rows_of_all, size, rank);
    const std::vector<double> shift(modes, 0.5);
    std::vector<double> solution(static_cast<std::size_t>(rows_of_all)), factors(solution);
    Rows shifted = rows;
    for (std::size_t k = 0; k < solution.size(); ++k) {
        shifted.diagonal[k] += 0.5 * rows.weight[k];
        solution[k] = std::cos(3.0 * static_cast<double>(k));
    }
    const std::vector<double> right_hand_side = solution;
    solve_one(shifted, solution, factors, [](std::size_t) {});
    for (const char* scheme : {"pipelined", "transpose", "partitioned"}) {
        parallel::SectionMonitor sections;
        parallel::Traffic traffic;
        Fields x(1, mine.size(), modes), scratch(1, mine.size(), modes);
        for (int k = 0; k < mine.size(); ++k)
            std::fill_n(x.view().re(k), 2 * modes,
                        right_hand_side[static_cast<std::size_t>(mine.begin + k)]);
        const SolveStage stages[] = {
            {{{&rows, shift.data(), {x.view()}, scratch.view()}}, {}, nullptr, nullptr}};
        make_tridiagonal(scheme, {grid, rows_of_all, modes, 1, 3, sections, traffic})
            ->solve(stages);
        for (int k = 0; k < mine.size(); ++k)
            for (int m = 0; m < 2 * modes; ++m)
                EXPECT_NEAR(x.view().re(k)[m], solution[static_cast<std::size_t>(mine.begin + k)],
                            1e-14)
                    << scheme;
    }
}

TEST(TridiagonalSchemes, AnUnknownNameIsAnErrorWithTheKnownNames) {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const ProcessGrid grid(MPI_COMM_WORLD, 1, size);
    parallel::SectionMonitor sections;
    parallel::Traffic traffic;
    try {
        static_cast<void>(make_tridiagonal("cyclic", {grid, planes, 4, 1, 3, sections, traffic}));
        FAIL() << "an unknown scheme was accepted";
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("pipelined"), std::string::npos);
    }
}

} // namespace
} // namespace uzushio::channel
