#pragma once

#include "domain/field.hpp"

namespace uzushio::domain {

/// Positions of cell centres (means of eight vertices) or vertices of a rank's blocks, as a field
/// of `Values::position`; ghosts are zero until it is exchanged.
[[nodiscard]] Field<double> positions(const Decomposition& decomposition, int rank,
                                      Centring centring, int ghosts);

/// Set the ghosts of cell centres beyond boundaries: mirror images of cells in the centre of the
/// cell side; beyond two boundaries they are not set.
void reflect_positions(const Decomposition& decomposition, int rank, int layers,
                       Field<double>& centres);

} // namespace uzushio::domain
