#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "staging/datamodel/tile_cutter.hpp"
#include "staging/queue/held_steps.hpp"
#include "staging/transport/mpi/peer_ranks.hpp"
#include "staging/transport/mpi/pending_sends.hpp"
#include "staging/transport/mpi/tile_buffers.hpp"
#include "staging/transport/mpi/windows.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::mpi {

/// Sender of the pieces that one rank of a reader requests from this rank: in order, tile by tile,
/// a few in flight at a time. For the service's thread.
class TileSender {
  public:
    /// All arguments outlive the sender. `rank`: of the writer; `to`: of the reader. `windows`:
    /// possibly pending, for puts.
    TileSender(const PeerRanks& peers, PendingWindows windows, std::uint32_t channel, int rank,
               int to, const HeldSteps& steps, TileBuffers& buffers, PendingSends& sends);
    TileSender(const TileSender&) = delete;
    TileSender& operator=(const TileSender&) = delete;
    ~TileSender(); ///< abandons sends in flight

    /// Add an encoded FetchRequest. After an invalid one all others are ignored: tiles are
    /// identified by their order only, and the reader has to attach again.
    void take(std::span<const std::byte> request);
    /// Add an encoded Credit for one tile. Throws DecodeError.
    void add_credit(std::span<const std::byte> bytes);
    /// Send an error instead of further values.
    void refuse(ErrorCode code, std::string text);
    /// Make progress without waiting. Return whether a tile was started or has completed.
    bool progress();
    [[nodiscard]] bool idle() const { return transfers_.empty() && in_flight_.empty(); }

  private:
    /// Transfer of one requested piece.
    struct PieceTransfer {
        FetchRequest request;
        std::shared_ptr<const HeldStep> step;
        ConstArrayView view;
        TileCutter tiles;
        std::optional<Tile> tile; ///< the next one
    };
    /// Tile that MPI reads from a buffer, or from the step itself.
    struct InFlight {
        MPI_Request request = MPI_REQUEST_NULL;
        std::shared_ptr<const HeldStep> step;
        std::shared_ptr<std::byte[]> buffer;
    };

    /// Return false if there is no buffer or no credit now.
    bool send(PieceTransfer& transfer);
    bool put(PieceTransfer& transfer);

    PendingWindows windows_;
    std::uint32_t channel_;
    int rank_;
    int reader_;     ///< rank among readers
    int world_rank_; ///< rank in MPI_COMM_WORLD
    const HeldSteps& steps_;
    TileBuffers& buffers_;
    PendingSends& sends_;
    std::deque<PieceTransfer> transfers_;
    std::deque<InFlight> in_flight_;
    std::deque<std::uint64_t> credits_;
    bool refused_ = false;
};

} // namespace uzushio::staging::mpi
