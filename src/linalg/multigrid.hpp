#pragma once

#include <memory>

#include "linalg/iterative_solver.hpp"

namespace uzushio::linalg {

/// Parameters of a V-cycle.
struct CycleOptions {
    int sweeps_before = 2; ///< red-black relaxations before the coarse correction
    int sweeps_after = 1;
    double omega = 1.22;             ///< over-relaxation of a sweep
    double correction_factor = 1.04; ///< times the coarse correction, on the finest level
    bool symmetric = false; ///< sweeps after the correction are in the reverse order of colours
    bool fused = true;      ///< one traversal for all half sweeps between two exchanges
};

/// Return a geometric multigrid V-cycle in single precision. Each level joins pairs of cells along
/// the axes whose cells are narrow: all of them where cells are cubes, else those along which the
/// flux is strong. Coarse levels are on fewer ranks. Relaxation is red-black, restriction the mean
/// of the joined cells, prolongation trilinear, and coarse operators are those of the coarse cells.
///
/// `apply_first` is a full multigrid cycle: the coarsest level's solution is interpolated to the
/// next finer level and improved there by a V-cycle, and so on (nested iteration).
///
/// Fields of a fused cycle have as many ghost layers as it has half sweeps on a level, less one.
/// Relaxation of ghosts repeats that of their owner, so that a cycle exchanges the right-hand side
/// of a level and the correction of the next coarser one, and nothing else. Values have the same
/// bits as those of a cycle that is not fused.
///
/// Blocks whose cuts are odd are redistributed first.
std::unique_ptr<Preconditioner> make_multigrid(const SolverSetup& setup,
                                               const CycleOptions& options);

} // namespace uzushio::linalg
