#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "parallel/block.hpp"
#include "parallel/section_monitor.hpp"
#include "parallel/section_names.hpp"
#include "parallel/traffic.hpp"
#include "solvers/channel/planes.hpp"
#include "solvers/channel/process_grid.hpp"

namespace uzushio::channel {

/// Coefficients of one tridiagonal matrix per mode m. The matrices differ in a shift of the
/// diagonal:
///   lower[k] x[k-1] + (diagonal[k] + weight[k] shift[m]) x[k] + upper[k] x[k+1] = rhs[k].
/// The rows are those of the whole column of planes; lower[0] and the last upper are zero.
struct Rows {
    std::vector<double> lower, diagonal, upper, weight;
};

/// Right-hand sides with the same matrix, for all modes of this rank.
struct System {
    const Rows* rows = nullptr;
    const double* shift = nullptr; ///< one per mode of a plane
    std::vector<Planes> unknowns;  ///< right-hand side in, solution out
    Planes factors;                ///< scratch, overwritten
};

/// Systems that are solved together, and functions of a chunk of modes that the solver calls before
/// and after.
struct SolveStage {
    std::vector<System> systems;
    /// Fields of which `before` reads the ghost plane below; the solver receives it first.
    std::vector<Planes> carried;
    std::function<void(parallel::Range)> before; ///< computes the right-hand side
    std::function<void(parallel::Range)> after;  ///< uses the solution and the ghost plane above
    double before_flops = 0; ///< operations of `before` for one mode, 0 if unknown
    double after_flops = 0;  ///< the same of `after`
};

/// Solver of tridiagonal systems along z for each mode, on planes distributed in blocks over Pz
/// ranks. The order of operations does not depend on the number of threads, nor on that of ranks
/// except in `Partitioned`. The threads of a rank have different modes: functions of a stage are
/// called for several chunks at the same time.
class TridiagonalSolver {
  public:
    virtual ~TridiagonalSolver() = default;

    /// Solve the stages in order (collective over the column of ranks). After a stage, the ghost
    /// plane above each unknown holds the solution's next plane. A stage may use the results of
    /// earlier stages for the same modes, but not for other modes.
    virtual void solve(std::span<const SolveStage> stages) = 0;

    /// Return the bytes of the solver's own buffers.
    [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// Arguments of `make_tridiagonal`.
struct TridiagonalSetup {
    const ProcessGrid& grid;
    int planes;     ///< of the whole column
    int modes;      ///< of this rank in a plane
    int max_stages; ///< in one call of solve
    /// Maximum of a stage for one mode: systems, plus twice the unknowns and carried fields.
    int max_values;
    parallel::SectionMonitor& sections;
    parallel::Traffic& traffic;
    int threads = 1; ///< of a rank
};

/// Create the solver of a scheme: "pipelined" (messages to neighbours along z, pipelined over
/// chunks of modes), "transpose" (two all-to-alls per unknown) or "partitioned" (two small
/// all-to-alls per stage). Throw `std::invalid_argument` for
/// another name.
[[nodiscard]] std::unique_ptr<TridiagonalSolver> make_tridiagonal(std::string_view scheme,
                                                                  const TridiagonalSetup& setup);

} // namespace uzushio::channel
