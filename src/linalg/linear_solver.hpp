#pragma once

#include <string>

#include "domain/field.hpp"

namespace uzushio::linalg {

/// What a solve did.
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

    /// Solve for cell-centred fields on the equation's decomposition (collective). Iterative
    /// solvers begin with the values of x. Ghosts are neither read nor valid afterwards. If
    /// constants solve the homogeneous equation, x has zero mean.
    ///
    /// Throws `std::invalid_argument` if a field does not belong to the decomposition or, for a
    /// singular equation, if f has a mean that is more than round-off.
    virtual SolveReport solve(const domain::Field<double>& f, domain::Field<double>& x) = 0;

    /// Return the bytes of this rank's arrays.
    [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// Throw `std::invalid_argument` if the right-hand side of a singular equation has a mean that is
/// more than round-off: no solution exists. `sum` and `magnitude`: integrals of f and |f| over the
/// mesh.
void check_compatibility(double sum, double magnitude);

/// Throw `std::invalid_argument` unless a field is cell-centred, with one component, on this
/// decomposition.
void check_field(const domain::Field<double>& field, const domain::Decomposition& decomposition,
                 int rank);

} // namespace uzushio::linalg
