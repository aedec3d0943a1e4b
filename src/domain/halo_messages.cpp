#include "domain/halo_messages.hpp"

#include <map>
#include <type_traits>

namespace uzushio::domain {

HaloMessages plan_messages(MPI_Comm comm, const Decomposition& decomposition,
                           std::span<const FieldSpec> specs, Reach reach) {
    static_assert(std::is_trivially_copyable_v<FieldPiece>); // pieces are sent as bytes
    constexpr int tag = 21;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);

    HaloMessages messages;
    std::map<int, std::vector<FieldPiece>> receives;
    for (std::size_t f = 0; f < specs.size(); ++f)
        for (const int block : decomposition.blocks_of(rank))
            for (const HaloPiece& piece : halo_pieces(decomposition, block, specs[f], reach)) {
                const int source = decomposition.block(piece.source_block).rank;
                auto& list = source == rank ? messages.local : receives[source];
                list.push_back({static_cast<int>(f), block, piece});
            }

    const auto ranks = static_cast<std::size_t>(decomposition.ranks());
    std::vector<int> wanted(ranks), asked(ranks);
    for (auto& [source, pieces] : receives) {
        wanted[static_cast<std::size_t>(source)] = static_cast<int>(pieces.size());
        messages.receives.push_back({source, std::move(pieces)});
    }
    MPI_Alltoall(wanted.data(), 1, MPI_INT, asked.data(), 1, MPI_INT, comm);
    for (std::size_t r = 0; r < ranks; ++r)
        if (asked[r] > 0)
            messages.sends.push_back(
                {static_cast<int>(r), std::vector<FieldPiece>(static_cast<std::size_t>(asked[r]))});

    constexpr int size = sizeof(FieldPiece);
    std::vector<MPI_Request> requests;
    for (PieceList& list : messages.sends)
        MPI_Irecv(list.pieces.data(), size * static_cast<int>(list.pieces.size()), MPI_BYTE,
                  list.rank, tag, comm, &requests.emplace_back());
    for (const PieceList& list : messages.receives)
        MPI_Isend(list.pieces.data(), size * static_cast<int>(list.pieces.size()), MPI_BYTE,
                  list.rank, tag, comm, &requests.emplace_back());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return messages;
}

} // namespace uzushio::domain
