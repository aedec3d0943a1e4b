#include "linalg/solvers.hpp"

#include <stdexcept>
#include <string>

#include "linalg/blocked_fft_solver.hpp"
#include "linalg/fft_solver.hpp"
#include "linalg/krylov.hpp"
#include "linalg/multigrid.hpp"
#include "linalg/stationary.hpp"

namespace uzushio::linalg {

const std::vector<std::string_view>& solver_names() {
    static const std::vector<std::string_view> names{"auto",
                                                     "fft",
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
    if (name == "auto") {
        name = "cg";
        if (is_fft_fast(equation) && why_no_fft(equation).empty())
            name = "fft";
        else if (is_fft_fast(equation) && why_no_blocked_fft(comm, equation).empty() &&
                 is_blocked_fft_fast(comm, equation))
            name = "cg/fft";
    }
    if (name == "fft")
        return make_fft_solver(comm, equation, traffic, sections);
    if (name == "cg/fft")
        return make_blocked_fft_solver(comm, equation, limits, traffic, sections);
    if (name == "jacobi")
        return make_jacobi(comm, equation, limits, traffic, sections);
    if (name == "sor")
        return make_sor(comm, equation, limits, traffic, sections);
    const auto cut = name.find('/');
    const std::string_view method = name.substr(0, cut);
    const bool diagonal = cut != std::string_view::npos && name.substr(cut) == "/diagonal";
    const auto preconditioner = [&] {
        // The pipelined method's recurrences need a preconditioner that is nearly symmetric.
        const CycleOptions symmetric{.sweeps_before = 2,
                                     .sweeps_after = 2,
                                     .omega = 1.15,
                                     .correction_factor = 1,
                                     .symmetric = true,
                                     .fused = false};
        return diagonal ? make_diagonal(comm, equation, traffic, sections)
                        : make_multigrid(comm, equation,
                                         method == "pipelined_cg" ? symmetric : CycleOptions{},
                                         traffic, sections);
    };
    if (diagonal || cut == std::string_view::npos) {
        if (method == "multigrid" && !diagonal)
            return make_correction(comm, equation, limits, traffic, sections, preconditioner());
        if (method == "cg")
            return make_cg(comm, equation, limits, traffic, sections, preconditioner());
        if (method == "pipelined_cg")
            return make_pipelined_cg(comm, equation, limits, traffic, sections, preconditioner());
        if (method == "bicgstab")
            return make_bicgstab(comm, equation, limits, traffic, sections, preconditioner());
    }
    std::string text = "there is no linear solver '" + std::string(name) + "'; there are:";
    for (const std::string_view known : solver_names())
        text.append(" ").append(known);
    throw std::invalid_argument(text);
}

} // namespace uzushio::linalg
