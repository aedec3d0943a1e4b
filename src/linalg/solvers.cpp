#include "linalg/solvers.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "linalg/aggregation_cycle.hpp"
#include "linalg/anisotropy.hpp"
#include "linalg/automatic.hpp"
#include "linalg/blocked_fft_solver.hpp"
#include "linalg/fft_solver.hpp"
#include "linalg/krylov.hpp"
#include "linalg/multigrid.hpp"
#include "linalg/stationary.hpp"

namespace uzushio::linalg {

namespace {

/// Iterative method that uses a preconditioner.
struct Iteration {
    std::string_view name;
    std::unique_ptr<LinearSolver> (*make)(const SolverSetup&, std::unique_ptr<Preconditioner>);
};

constexpr Iteration iterations[] = {{"multigrid", make_correction},
                                    {"cg", make_cg},
                                    {"pipelined_cg", make_pipelined_cg},
                                    {"bicgstab", make_bicgstab}};

} // namespace

const std::vector<std::string_view>& solver_names() {
    static const std::vector<std::string_view> names{"auto",
                                                     "fft",
                                                     "fft/partitioned",
                                                     "multigrid",
                                                     "cg",
                                                     "pipelined_cg",
                                                     "bicgstab",
                                                     "cg/fft",
                                                     "cg/diagonal",
                                                     "pipelined_cg/diagonal",
                                                     "bicgstab/diagonal",
                                                     "jacobi",
                                                     "sor"};
    return names;
}

std::unique_ptr<LinearSolver> make_solver(std::string_view name, MPI_Comm comm,
                                          const Equation& equation, const IterationLimits& limits,
                                          parallel::Traffic& traffic,
                                          parallel::SectionMonitor& sections) {
    const auto& names = solver_names();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
        std::string text = "there is no linear solver '" + std::string(name) + "'; there are:";
        for (const std::string_view known : names)
            text.append(" ").append(known);
        throw std::invalid_argument(text);
    }
    const SolverSetup setup{comm, equation, limits, traffic, sections};
    if (name == "auto")
        return make_automatic(setup);
    if (name == "fft")
        return make_fft_solver(comm, equation, traffic, sections);
    if (name == "fft/partitioned")
        return make_fft_solver(comm, equation, traffic, sections, ColumnScheme::partitioned);
    if (name == "cg/fft")
        return make_blocked_fft_solver(setup);
    if (name == "jacobi")
        return make_jacobi(setup);
    if (name == "sor")
        return make_sor(setup);
    const std::string_view method = name.substr(0, name.find('/'));
    // The pipelined method's recurrences need a preconditioner that is nearly symmetric.
    const CycleOptions symmetric{.sweeps_before = 2,
                                 .sweeps_after = 2,
                                 .omega = 1.15,
                                 .correction_factor = 1,
                                 .symmetric = true,
                                 .fused = false};
    auto preconditioner =
        method != name ? make_diagonal(setup) // "/diagonal" is behind the method
        : is_anisotropic(comm, equation)
            ? make_aggregation(setup)
            : make_multigrid(setup, method == "pipelined_cg" ? symmetric : CycleOptions{});
    const auto iteration =
        std::find_if(std::begin(iterations), std::end(iterations),
                     [&](const Iteration& candidate) { return candidate.name == method; });
    return iteration->make(setup, std::move(preconditioner));
}

} // namespace uzushio::linalg
