// ranks: 1 2 3 5
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "linalg/multigrid.hpp"
#include "linalg/solvers.hpp"
#include "support/elliptic_case.hpp"

namespace uzushio::linalg {
namespace {

using enum Condition;
constexpr Ends p{periodic, periodic}, n{neumann, neumann}, d{dirichlet, dirichlet};

/// A cycle on some blocks, with what it needs.
class Cycle {
  public:
    Cycle(const EllipticCase& c, MPI_Comm comm, Equation equation, const CycleOptions& options = {})
        : case_(c), equation_(std::move(equation)),
          cycle_(make_multigrid({comm, equation_, {}, traffic_, sections_}, options)) {}

    /// Return the output for the cells of a whole box; the first iteration's, if `first`.
    const domain::Field<float>& apply(const std::vector<double>& r, bool first) {
        auto& input = cycle_->input();
        for (std::size_t b = 0; b < input.blocks(); ++b)
            for_indices(input.owned(b), [&](const Index<3>& i) {
                input.view(b)(i) = static_cast<float>(r[case_.at(i)]);
            });
        if (first)
            cycle_->apply_first();
        else
            cycle_->apply();
        return cycle_->output();
    }
    [[nodiscard]] std::int64_t messages() const {
        return traffic_[parallel::Exchange::halo].messages;
    }

  private:
    EllipticCase case_;
    Equation equation_;
    parallel::Traffic traffic_;
    parallel::SectionMonitor sections_;
    std::unique_ptr<Preconditioner> cycle_;
};

/// Return the number of this rank's cells in which two fields differ, on any blocks of one of
/// which all cells are present.
std::int64_t different_cells(const domain::Field<float>& some, const domain::Field<float>& all) {
    std::int64_t count = 0;
    for (std::size_t b = 0; b < some.blocks(); ++b)
        for_indices(some.owned(b),
                    [&](const Index<3>& i) { count += some.view(b)(i) == all.view(0)(i) ? 0 : 1; });
    return count;
}

std::vector<EllipticCase> cases() {
    EllipticCase stretched{{16, 12, 20}, {p, n, d}, {false, true, true}};
    EllipticCase variable{{16, 12, 8}, {n, Ends{neumann, dirichlet}, p}};
    variable.b = [](std::size_t axis, const Index<3>& i) {
        return i[0] > 5 && i[1] > 4 ? 100.0 - static_cast<double>(axis) : 1.0;
    };
    EllipticCase odd{{15, 9, 12}, {p, p, n}};
    EllipticCase plane{{20, 24, 1}, {p, n, n}};
    plane.dimension = 2;
    plane.b = [](std::size_t, const Index<3>& i) { return i[1] > 9 ? 5.0 : 1.0; };
    const EllipticCase wide{{8, 150, 16}, {p, d, p}}; // more than one tile of rows
    return {{{16, 16, 16}, {d, d, d}},
            {{24, 16, 12}, {p, p, p}},
            stretched,
            variable,
            odd,
            plane,
            wide};
}

TEST(MultigridCycle, HasTheBitsOfOneThatIsNotFused) {
    std::size_t number = 0;
    for (const EllipticCase& c : cases()) {
        const auto r = random_solution(c, 5);
        CycleOptions alone;
        alone.fused = false;
        Cycle fused(c, MPI_COMM_WORLD, c.equation(ranks(), rank()));
        Cycle unfused(c, MPI_COMM_SELF, c.equation(1), alone);
        for (const bool first : {true, false})
            EXPECT_EQ(different_cells(fused.apply(r, first), unfused.apply(r, first)), 0)
                << "case " << number << ", first " << first;
        ++number;
    }
}

TEST(MultigridCycle, HasTheSameBitsOnSeveralBlocksOfARank) {
    std::size_t number = 0;
    for (const EllipticCase& c : cases()) {
        const auto r = random_solution(c, 6);
        auto blocks = Decomposition::cartesian(c.mesh(), 2 * ranks()).blocks();
        for (domain::Block& block : blocks)
            block.rank /= 2;
        Cycle several(c, MPI_COMM_WORLD,
                      c.equation(Decomposition(c.mesh(), std::move(blocks), ranks()), rank()));
        Cycle one(c, MPI_COMM_SELF, c.equation(1));
        EXPECT_EQ(different_cells(several.apply(r, false), one.apply(r, false)), 0)
            << "case " << number;
        ++number;
    }
}

TEST(MultigridCycle, SendsFewerMessagesThanOneThatIsNotFused) {
    if (ranks() == 1)
        return;
    const EllipticCase c{{32, 32, 32}, {d, d, d}};
    const auto r = random_solution(c, 5);
    std::vector<std::int64_t> sent;
    for (const bool fused : {true, false}) {
        CycleOptions options;
        options.fused = fused;
        Cycle cycle(c, MPI_COMM_WORLD, c.equation(ranks(), rank()), options);
        const std::int64_t before = cycle.messages();
        cycle.apply(r, false);
        sent.push_back(cycle.messages() - before);
    }
    MPI_Allreduce(MPI_IN_PLACE, sent.data(), 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_LT(sent[0], 2 * sent[1] / 3);
}

TEST(FullMultigrid, HasADiscretisationErrorOfSecondOrderAfterOneCycle) {
    // sin(pi x) sin(pi y) sin(pi z) between Dirichlet boundaries of a unit cube.
    const double pi = std::numbers::pi;
    std::vector<double> errors;
    for (const std::int64_t cells : {16, 32, 64}) {
        const EllipticCase c{{cells, cells, cells}, {d, d, d}, {}, {1, 1, 1}};
        std::vector<double> exact(c.size()), f(c.size());
        for_indices(Box<3>::of(c.cells), [&](const Index<3>& i) {
            double value = 1;
            for (const std::int64_t at : i)
                value *=
                    std::sin(pi * (static_cast<double>(at) + 0.5) / static_cast<double>(cells));
            exact[c.at(i)] = value;
            f[c.at(i)] = -3 * pi * pi * value;
        });
        Cycle cycle(c, MPI_COMM_WORLD, c.equation(ranks(), rank()));
        const auto& x = cycle.apply(f, true);
        double error = 0;
        for (std::size_t b = 0; b < x.blocks(); ++b)
            for_indices(x.owned(b), [&](const Index<3>& i) {
                error = std::max(error, std::abs(double{x.view(b)(i)} - exact[c.at(i)]));
            });
        MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        errors.push_back(error);
        // That of the discrete equation's solution is (pi / cells)^2 / 12 to leading order.
        EXPECT_LT(error, 1.5 * std::pow(pi / static_cast<double>(cells), 2) / 12);
    }
    EXPECT_GT(std::log2(errors[1] / errors[2]), 1.8);
}

} // namespace
} // namespace uzushio::linalg
