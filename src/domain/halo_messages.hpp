#pragma once

#include <mpi.h>

#include <vector>

#include "domain/halo_plan.hpp"

namespace uzushio::domain {

/// Piece of one of the exchanged fields.
struct FieldPiece {
    int field = 0;
    int target_block = 0;
    HaloPiece piece;
};

/// Pieces of a message to or from one rank, in the order of the message.
struct PieceList {
    int rank = 0;
    std::vector<FieldPiece> pieces;
};

/// Copies, receives and sends of one rank in an exchange.
struct HaloMessages {
    std::vector<FieldPiece> local;
    std::vector<PieceList> receives; ///< ascending ranks
    std::vector<PieceList> sends;    ///< ascending ranks
};

/// Plan the exchange of this rank's ghosts, and send requests to the ranks that have their values
/// (collective). Cost: this rank's blocks times the logarithm of all blocks, and an all-to-all of
/// one integer per rank.
[[nodiscard]] HaloMessages plan_messages(MPI_Comm comm, const Decomposition& decomposition,
                                         std::span<const FieldSpec> specs, Reach reach);

} // namespace uzushio::domain
