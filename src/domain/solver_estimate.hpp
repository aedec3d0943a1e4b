#pragma once

#include <cstdint>

#include "domain/decomposition.hpp"
#include "domain/solver_declaration.hpp"

namespace uzushio::domain {

/// Resources that a solver needs on a number of ranks.
struct SolverEstimate {
    int blocks = 0;
    double imbalance = 1;           ///< largest number of cells of a rank over the mean
    std::int64_t cells = 0;         ///< maximum of a rank
    std::int64_t bytes = 0;         ///< of the arrays of a rank, maximum
    std::int64_t halo_messages = 0; ///< sent by one rank in a step, maximum
    std::int64_t halo_bytes = 0;    ///< in them
};

/// Return the resources that the arrays and messages of a declaration need; allocates no field.
[[nodiscard]] SolverEstimate estimate(const SolverDeclaration& declaration,
                                      const Decomposition& decomposition);

} // namespace uzushio::domain
