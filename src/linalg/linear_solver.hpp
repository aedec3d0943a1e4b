#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "domain/field.hpp"

namespace uzushio::linalg {

/// Result of a solve, besides the solution.
struct SolveReport {
    std::string solver;
    int iterations = 0;  ///< 0: a direct solver
    double residual = 0; ///< norm of f - A x over the norm of f; 0: a direct solver
    bool converged = true;
};

/// Solver of one equation, A x = f, prepared once.
class LinearSolver {
  public:
    virtual ~LinearSolver() = default;

    /// Arrays of this rank's blocks, in the order of `Decomposition::blocks_of`; with any number of
    /// ghost layers, which are neither read nor valid afterwards.
    using Sources = std::vector<domain::View<const double>>;
    using Targets = std::vector<domain::View<double>>;

    /// Solve on the equation's decomposition (collective). Iterative solvers but `cg/fft` begin
    /// with the values of x. If constants solve the homogeneous equation, x has zero mean; if they
    /// do so in each of several regions that faces with b = 0 close off, x has zero mean in each.
    ///
    /// Throws `std::invalid_argument` on all ranks if an array does not contain its block, if f is
    /// not 0 in an isolated cell, or if f has a mean that is more than round-off over the mesh of a
    /// singular equation, or over such a region.
    virtual SolveReport solve(const Sources& f, const Targets& x) = 0;

    /// The same for cell-centred fields.
    SolveReport solve(const domain::Field<double>& f, domain::Field<double>& x);

    /// Return the name of the method that a solve begins with.
    [[nodiscard]] virtual std::string name() const = 0;
    /// Return the bytes of this rank's arrays.
    [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// Return whether an integral is 0 but for the round-off of terms whose magnitudes sum up to
/// `magnitude`.
[[nodiscard]] bool is_balanced(double sum, double magnitude);

/// Throw `std::invalid_argument` if the right-hand side of a singular equation has a mean that is
/// more than round-off, so that no solution exists, or is not finite. `sum` and `magnitude`:
/// integrals of f and |f| over the mesh.
void check_compatibility(double sum, double magnitude);

/// Throw `std::invalid_argument` on all ranks unless both have one array with one component for
/// each block of each rank, which contains its cells (collective).
void check_arrays(MPI_Comm comm, const LinearSolver::Sources& f, const LinearSolver::Targets& x,
                  const domain::Decomposition& decomposition);

} // namespace uzushio::linalg
