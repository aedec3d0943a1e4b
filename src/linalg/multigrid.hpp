#pragma once

#include <memory>

#include "linalg/iterative_solver.hpp"

namespace uzushio::linalg {

/// Parameters of a V-cycle.
struct CycleOptions {
    int sweeps_before = 2; ///< red-black relaxations before the coarse correction
    int sweeps_after = 2;
    double omega = 1.15; ///< over-relaxation of a sweep
};

/// Return a geometric multigrid V-cycle in single precision. Each level joins pairs of cells along
/// the axes whose cells are narrow: all of them where cells are cubes, else those along which the
/// flux is strong. Coarse levels are on fewer ranks. Relaxation is red-black, restriction the mean
/// of the joined cells, prolongation linear, and coarse operators are those of the coarse cells.
///
/// Blocks whose cuts are odd are redistributed first.
std::unique_ptr<Preconditioner> make_multigrid(MPI_Comm comm, const Equation& equation,
                                               const CycleOptions& options,
                                               parallel::Traffic& traffic,
                                               parallel::SectionMonitor& sections);

} // namespace uzushio::linalg
