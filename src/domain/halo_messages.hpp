#pragma once

#include <mpi.h>

#include <vector>

#include "domain/halo_plan.hpp"

namespace uzushio::domain {

/// A piece of one of the fields that are exchanged together.
struct FieldPiece {
    int field = 0;
    int target_block = 0;
    HaloPiece piece;
};

/// Pieces of a message to or from one rank, in the order in which they lie in it.
struct PieceList {
    int rank = 0;
    std::vector<FieldPiece> pieces;
};

/// What one rank copies, receives and sends in an exchange.
struct HaloMessages {
    std::vector<FieldPiece> local;
    std::vector<PieceList> receives; ///< ascending ranks
    std::vector<PieceList> sends;    ///< ascending ranks
};

/// Plan this rank's ghosts, and tell the ranks that have their values (collective). Cost: this
/// rank's blocks times the logarithm of all blocks, and an all-to-all of one integer a rank.
[[nodiscard]] HaloMessages plan_messages(MPI_Comm comm, const Decomposition& decomposition,
                                         std::span<const FieldSpec> specs, Reach reach);

} // namespace uzushio::domain
