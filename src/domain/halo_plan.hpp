#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/decomposition.hpp"
#include "domain/field_spec.hpp"

namespace uzushio::domain {

/// Ghosts that are exchanged: those beyond one face, beyond up to two (edges), or all (corners).
enum class Reach { faces = 1, edges = 2, corners = 3 };

/// Ghosts of one array of a block whose values are in one array of another block.
struct HaloPiece {
    int array = 0;
    Box<3> target; ///< ghosts, in the indices of their zone
    int source_block = 0;
    int source_array = 0;
    IndexMap map;         ///< to the source's indices
    int sign = 1;         ///< factor of the values: -1 for some fluxes
    Vector translation{}; ///< from the ghosts' positions to those of the values
};

/// Return the pieces that fill the ghosts of a block, except those beyond boundary conditions.
/// Sources are never ghosts, so that one exchange also fills edges and corners.
[[nodiscard]] std::vector<HaloPiece> halo_pieces(const Decomposition& decomposition, int block,
                                                 const FieldSpec& spec, Reach reach);

/// Messages and bytes of one exchange.
struct HaloVolume {
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
    std::int64_t max_rank_messages = 0; ///< that one rank sends
    std::int64_t max_rank_bytes = 0;    ///< that one rank sends
};

/// Return the messages and bytes of an exchange of fields with `value_size` bytes per value; needs
/// no communicator.
[[nodiscard]] HaloVolume halo_volume(const Decomposition& decomposition,
                                     std::span<const FieldSpec> specs, Reach reach,
                                     std::size_t value_size = sizeof(double));

} // namespace uzushio::domain
