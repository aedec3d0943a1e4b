#pragma once

#include <mpi.h>

#include <array>
#include <memory>

#include "domain/field.hpp"
#include "linalg/coarsening.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::linalg {

/// Return the coefficient on the faces of coarse cells: the mean over the fine faces that a coarse
/// face consists of, by their areas. The blocks of `coarse` are those of `coarse_blocks`.
[[nodiscard]] std::shared_ptr<const domain::Field<double>>
coarse_coefficient(const domain::Field<double>& fine, const std::array<Axis, 3>& axes,
                   const Coarsened& joined, const domain::Decomposition& coarse, int rank);

/// Return the same coefficient on other blocks of the same mesh (collective).
[[nodiscard]] std::shared_ptr<const domain::Field<double>>
moved_coefficient(MPI_Comm comm, const domain::Field<double>& from,
                  const domain::Decomposition& from_blocks, const domain::Decomposition& to_blocks,
                  int rank, parallel::Traffic& traffic);

} // namespace uzushio::linalg
