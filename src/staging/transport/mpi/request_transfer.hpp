#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "staging/datamodel/tile_cutter.hpp"
#include "staging/transport/mpi/peer_ranks.hpp"
#include "staging/transport/mpi/pending_sends.hpp"
#include "staging/transport/mpi/rank_transfer.hpp"
#include "staging/transport/mpi/tile_buffers.hpp"
#include "staging/transport/mpi/windows.hpp"
#include "staging/transport/step_source.hpp"

namespace uzushio::staging::mpi {

/// Free offsets for tiles in this reader's put window.
using LandingSlots = std::vector<std::uint64_t>;

/// Transfer by requests to the writer, which sends or puts the tiles. They arrive in the order of
/// the requests, and need no headers.
class RequestTransfer : public RankTransfer {
  public:
    /// Piece, and its transfer mode.
    struct Item {
        const Fetch* fetch = nullptr;
        TransferMode mode;
    };

    /// All arguments outlive the transfer. `windows`: if tiles are to be put; `places`: free
    /// offsets there.
    RequestTransfer(const PeerRanks& peers, const Windows* windows, std::uint32_t channel,
                    int writer, std::vector<Item> wanted, TileBuffers& buffers,
                    LandingSlots& places, PendingSends& sends);
    RequestTransfer(const RequestTransfer&) = delete;
    RequestTransfer& operator=(const RequestTransfer&) = delete;
    ~RequestTransfer() override;

    bool progress() override;
    [[nodiscard]] bool done() const override;

  private:
    struct InFlight {
        MPI_Request request = MPI_REQUEST_NULL;
        ArrayView to;
        ComponentOrder order = ComponentOrder::interleaved;
        std::shared_ptr<std::byte[]> buffer; ///< null if received in place
        std::optional<std::uint64_t> place;
    };

    bool request_next();
    bool start();
    bool finish();
    void listen();

    const Windows* windows_;
    std::uint32_t channel_;
    int writer_;     ///< rank among writers
    int world_rank_; ///< rank in MPI_COMM_WORLD
    std::vector<Item> items_;
    std::size_t requested_ = 0; ///< number of requested items
    std::optional<TileCutter> tiles_;
    std::optional<Tile> tile_; ///< the next one, of the last requested piece
    std::deque<InFlight> in_flight_;
    std::size_t buffered_ = 0; ///< tiles in flight in a buffer, or in the put window
    TileBuffers& buffers_;
    LandingSlots& slots_;
    PendingSends& sends_;
};

} // namespace uzushio::staging::mpi
