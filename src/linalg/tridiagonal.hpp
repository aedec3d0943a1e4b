#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "parallel/block.hpp"
#include "parallel/planes.hpp"
#include "parallel/process_grid.hpp"
#include "parallel/stopwatch.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::linalg {

/// Coefficients of one tridiagonal matrix per mode m, equal up to a shift of the diagonal:
///   lower[k] x[k-1] + (diagonal[k] + weight[k] shift[m]) x[k] + upper[k] x[k+1] = rhs[k].
/// The rows are those of the whole column, wall to wall; lower[0] and the last upper are zero.
struct Rows {
    std::vector<double> lower, diagonal, upper, weight;
};

/// Systems to solve for all modes of this rank: some right-hand sides that share a matrix.
struct System {
    const Rows* rows = nullptr;
    const double* shift = nullptr;          ///< one per mode of a plane
    std::vector<parallel::Planes> unknowns; ///< right-hand side in, solution out
    parallel::Planes factors;               ///< scratch: its real parts are overwritten
};

/// Systems that are solved together, with the work on the modes of a chunk on either side.
struct Stage {
    std::vector<System> systems;
    /// Fields whose ghost plane below `before` reads: the neighbour's top plane is put there.
    std::vector<parallel::Planes> carried;
    std::function<void(parallel::Range)> before; ///< makes the right-hand side
    std::function<void(parallel::Range)> after;  ///< uses the solution and the ghost plane above
};

/// Solves tridiagonal systems along z for each mode of planes that Pz ranks hold in blocks. The
/// order of operations does not depend on the number of ranks.
class TridiagonalSolver {
  public:
    virtual ~TridiagonalSolver() = default;

    /// Go through the stages (collective over the column of ranks). After a stage the ghost plane
    /// above each unknown holds the solution's next plane. A stage may use what the stages before
    /// it made of the same modes, and nothing of other modes.
    virtual void solve(std::span<const Stage> stages) = 0;

    /// Bytes of the solver's own buffers.
    [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// What a scheme is made with.
struct Column {
    const parallel::ProcessGrid& grid;
    int planes; ///< of the whole column
    int modes;  ///< of this rank in a plane
    int stages; ///< at most in one call of solve
    int values; ///< at most of a stage for one mode: systems, twice the unknowns and the carried
    parallel::Stopwatch& watch;
    parallel::Traffic& traffic;
};

/// The schemes by name: "pipelined" (neighbour shifts along z, pipelined over chunks of modes) and
/// "transpose" (two all-to-alls per unknown). Throws `std::invalid_argument` for another name.
[[nodiscard]] std::unique_ptr<TridiagonalSolver> make_tridiagonal(std::string_view scheme,
                                                                  const Column& column);

} // namespace uzushio::linalg
