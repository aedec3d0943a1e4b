// Worker of bench/stretched.py: conjugate gradients with the geometric and with the algebraic
// multigrid cycle, in turns, on cells that widen from the middle of both axes, some of whose faces
// are blocked, on one rank. Prints a line of JSON. Arguments: cells an axis, repetitions.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "linalg/aggregation_cycle.hpp"
#include "linalg/krylov.hpp"
#include "linalg/multigrid.hpp"
#include "support/elliptic_case.hpp"

namespace {

using namespace uzushio::linalg;
using uzushio::domain::Face;

constexpr IterationLimits limits{1e-10, 200};

double processor_time() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Return faces on [-1, 1] of cells that are `ratio` times as wide at the ends as inside.
std::vector<double> widening(std::int64_t cells, double ratio) {
    const double most = std::acosh(ratio);
    std::vector<double> faces;
    for (std::int64_t n = 0; n <= cells; ++n) {
        const double s = 2 * static_cast<double>(n) / static_cast<double>(cells) - 1;
        faces.push_back(ratio == 1 ? s : std::sinh(most * s) / std::sinh(most));
    }
    return faces;
}

/// Poisson's equation in a square, the derivative given along x and the value along y; a share of
/// the faces is blocked.
Equation equation_of(std::int64_t cells, double ratio, double blocked) {
    const auto line = widening(cells, ratio);
    const auto mesh = uzushio::domain::box_mesh(2, {line, line, std::vector<double>{0, 1}},
                                                [](const Face& face) -> std::optional<std::string> {
                                                    return face.axis == 0 ? "gradient" : "value";
                                                });
    Equation equation{std::make_shared<Decomposition>(Decomposition::cartesian(mesh, 1)),
                      {{"value", Condition::dirichlet}, {"gradient", Condition::neumann}}};
    if (blocked == 0)
        return equation;
    std::mt19937 random(3);
    std::uniform_real_distribution<double> uniform(0, 1);
    const auto b = std::make_shared<Field<double>>(
        *equation.decomposition, 0,
        uzushio::domain::FieldSpec{.name = "b", .centring = uzushio::domain::Centring::face});
    for (std::size_t a = 0; a < b->arrays(); ++a)
        for_indices(b->owned(0, a), [&](const Index<3>& at) {
            b->view(0, a)(at) = uniform(random) < blocked ? 0 : 1;
        });
    equation.b = b;
    return equation;
}

/// Return A of random values: it balances in each part of the square that blocked faces close off.
std::vector<double> right_side(const Equation& equation, std::int64_t cells) {
    const auto axes = axes_of(equation);
    const auto whole = equation.decomposition->block(0).cells;
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    std::vector<double> x(static_cast<std::size_t>(whole.volume())), f;
    std::generate(x.begin(), x.end(), [&] { return normal(random); });
    for_indices(whole, [&](const Index<3>& at) {
        const auto value = [&](const Index<3>& i) {
            return whole.contains(i) ? x[static_cast<std::size_t>(i[0] + cells * i[1])] : 0;
        };
        double sum = 0;
        for (std::size_t a = 0; a < 2; ++a)
            for (const int side : {0, 1}) {
                const auto face = uzushio::domain::moved(at, a, side);
                const double b = equation.b ? equation.b->view(0, a)(face) : 1;
                sum += b * axes[a].reciprocal_distance(static_cast<int>(face[a])) *
                       (value(uzushio::domain::moved(at, a, 2 * side - 1)) - value(at)) /
                       axes[a].widths[static_cast<std::size_t>(at[a])];
            }
        f.push_back(sum);
    });
    return f;
}

/// Conjugate gradients with one of the cycles.
class Method {
  public:
    Method(bool algebraic, const Equation& equation)
        : setup_{MPI_COMM_WORLD, equation, limits, traffic_, sections_} {
        const double begin = processor_time();
        solver_ =
            make_cg(setup_, algebraic ? make_aggregation(setup_) : make_multigrid(setup_, {}));
        set_up_ = processor_time() - begin;
    }
    void solve(const std::vector<double>& f) {
        const auto cells = setup_.equation.decomposition->block(0).cells;
        std::vector<double> x(f.size());
        const double begin = processor_time();
        report_ = solver_->solve({{f.data(), cells, 1}}, {{x.data(), cells, 1}});
        seconds_ = std::min(seconds_, processor_time() - begin);
    }
    [[nodiscard]] nlohmann::json figures() const {
        return {{"seconds", seconds_},
                {"set_up", set_up_},
                {"iterations", report_.iterations},
                {"converged", report_.converged}};
    }

  private:
    uzushio::parallel::Traffic traffic_;
    uzushio::parallel::SectionMonitor sections_;
    SolverSetup setup_;
    std::unique_ptr<LinearSolver> solver_;
    SolveReport report_;
    double set_up_ = 0, seconds_ = std::numeric_limits<double>::max();
};

} // namespace

int main(int count, char** words) {
    MPI_Init(&count, &words);
    if (count != 3) {
        std::cerr << "arguments: cells an axis, repetitions\n";
        return 2;
    }
    const std::int64_t cells = std::atoll(words[1]);
    nlohmann::json results = nlohmann::json::array();
    for (const double ratio : {1.0, 27.0, 1444.0})
        for (const double blocked : {0.0, 0.2}) {
            const Equation equation = equation_of(cells, ratio, blocked);
            const auto f = right_side(equation, cells);
            Method geometric(false, equation), algebraic(true, equation);
            for (int n = 0; n < std::atoi(words[2]); ++n) {
                geometric.solve(f);
                algebraic.solve(f);
            }
            results.push_back({{"ratio", ratio},
                               {"blocked", blocked},
                               {"geometric", geometric.figures()},
                               {"algebraic", algebraic.figures()}});
        }
    std::cout << results.dump() << '\n';
    MPI_Finalize();
    return 0;
}
