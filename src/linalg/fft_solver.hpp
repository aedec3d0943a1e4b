#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "linalg/equation.hpp"
#include "linalg/linear_solver.hpp"
#include "linalg/mode_solver.hpp"
#include "parallel/section_monitor.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::linalg {

/// Return why the FFT solver does not apply to an equation; empty if it does. It needs a constant
/// coefficient, and at most one stretched periodic axis.
[[nodiscard]] std::string why_no_fft(const Equation& equation);

/// Return whether it is faster than iterations: it transforms no long stretched axis by a matrix.
[[nodiscard]] bool is_fft_fast(const Equation& equation);

/// Return the axis across which ranks hold slabs, if a solver of this name (see `solver_names`) is
/// direct for an equation with a constant coefficient.
[[nodiscard]] std::optional<std::size_t> slab_axis(std::string_view solver,
                                                   const Equation& equation);

/// Return the direct solver: transforms along two axes (`AxisTransform`; with a matrix where cells
/// are stretched), and tridiagonal systems along the third, which may be stretched. The values of x
/// have the same bits on any number of ranks. `traffic` and `sections` must outlive the solver.
/// Throws `std::invalid_argument` if it does not apply (collective).
///
/// Ranks hold slabs of planes during the transforms (pencils, if there are more ranks than planes)
/// and columns during the tridiagonal solve. With `ColumnScheme::partitioned` they keep their
/// planes and exchange two of each rank, and values of x depend on the number of ranks by rounding.
/// On one rank each plane is transformed and eliminated while it is in cache, in place.
[[nodiscard]] std::unique_ptr<LinearSolver>
make_fft_solver(MPI_Comm comm, const Equation& equation, parallel::Traffic& traffic,
                parallel::SectionMonitor& sections, ColumnScheme scheme = ColumnScheme::transposed);

} // namespace uzushio::linalg
