#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/decomposition.hpp"
#include "domain/field_spec.hpp"

namespace uzushio::domain {

/// Which ghosts are exchanged: those beyond one face, beyond up to two (edges), or all (corners).
enum class Reach { faces = 1, edges = 2, corners = 3 };

/// Ghosts of one array of a block whose values one array of a block holds.
struct HaloPiece {
    int array = 0;
    Box<3> target; ///< in the indices of the zone that has the ghosts
    int source_block = 0;
    int source_array = 0;
    IndexMap map;         ///< to the source's indices
    int sign = 1;         ///< by which values are multiplied: -1 for some fluxes
    Vector translation{}; ///< from the ghosts' positions to those of the values
};

/// Return what fills the ghosts of a block; those beyond boundary conditions are left out. Sources
/// are never ghosts, so that one exchange fills edges and corners too.
[[nodiscard]] std::vector<HaloPiece> halo_pieces(const Decomposition& decomposition, int block,
                                                 const FieldSpec& spec, Reach reach);

/// What one exchange sends between ranks.
struct HaloVolume {
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
    std::int64_t max_rank_bytes = 0; ///< that one rank sends
};

/// Return what an exchange of fields of `value_size` bytes a value will send; needs no
/// communicator.
[[nodiscard]] HaloVolume halo_volume(const Decomposition& decomposition,
                                     std::span<const FieldSpec> specs, Reach reach,
                                     std::size_t value_size = sizeof(double));

} // namespace uzushio::domain
