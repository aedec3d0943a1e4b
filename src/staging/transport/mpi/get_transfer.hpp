#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "staging/datamodel/run_cursor.hpp"
#include "staging/datamodel/tile_cutter.hpp"
#include "staging/transport/mpi/peer_ranks.hpp"
#include "staging/transport/mpi/pending_sends.hpp"
#include "staging/transport/mpi/rank_transfer.hpp"
#include "staging/transport/mpi/tile_buffers.hpp"
#include "staging/transport/mpi/windows.hpp"

namespace uzushio::staging::mpi {

/// Transfer by MPI_Get from the writer's memory; the writer only has to call MPI often meanwhile.
/// Long runs are received in place. Short runs are received with the gaps between them into a
/// buffer, if that is cheaper than many gets.
///
/// MPI may refuse a get although the writer holds the step, and with it the memory, for this
/// reader. Open MPI's osc/rdma (5.0) keeps the attached segments of a window in an array ordered by
/// address. If all ranks are on one node, readers search that array in the writer's shared memory
/// without its lock; elsewhere they fetch it with a length that they read before they had the lock.
/// To attach a segment, the writer first moves those at higher addresses up by one place, and then
/// raises the length: until then readers miss the last segment, and MPI_Rget returns
/// MPI_ERR_RMA_RANGE. (mmap mostly returns falling addresses, so that nearly all segments move.)
/// That lasts less than a microsecond, or until the writer's thread is scheduled again. Detaching
/// has the same effect in the reverse order.
///
/// Therefore a refused get does not show whether the writer still has the step. No further gets are
/// started then, and when the others are complete, the remaining pieces are requested from the
/// writer. It sends either the values or an error; it does not answer if it has closed the stream.
class GetTransfer : public RankTransfer {
  public:
    /// Piece, and its values in the writer's memory: an address there, never dereferenced here.
    struct Item {
        ArrayView to;
        ConstArrayView from;
        ComponentOrder order = ComponentOrder::interleaved;
    };

    /// Function that makes the transfer by requests of the pieces from number `first` on.
    using MakeRequestTransfer = std::function<std::unique_ptr<RankTransfer>(std::size_t first)>;

    /// `windows`: for pull. All arguments outlive the transfer.
    GetTransfer(const PeerRanks& peers, const Windows& windows, std::uint32_t channel, int writer,
                std::vector<Item> wanted, TileBuffers& buffers, PendingSends& sends,
                MakeRequestTransfer make_request_transfer);
    GetTransfer(const GetTransfer&) = delete;
    GetTransfer& operator=(const GetTransfer&) = delete;
    ~GetTransfer() override;

    bool progress() override;
    [[nodiscard]] bool done() const override;
    void throw_if_unreachable() const override;

    /// Maximum bytes of a get that includes gaps: the size of the buffers.
    static constexpr std::size_t span_bytes = std::size_t{4} << 20;

  private:
    /// Values in a buffer, and their destination.
    struct Part {
        ConstArrayView from;
        ArrayView to;
    };
    struct InFlight {
        std::size_t piece = 0; ///< piece of the whole batch
        std::vector<MPI_Request> requests;
        std::shared_ptr<std::byte[]> buffer; ///< null if received in place
        std::vector<Part> parts;
    };

    [[nodiscard]] bool open();
    [[nodiscard]] bool start();
    void get_runs(InFlight& batch);
    [[nodiscard]] bool get_spans(InFlight& batch);
    /// Return false if MPI refuses it.
    [[nodiscard]] bool get(InFlight& batch, std::byte* into, const std::byte* from,
                           std::size_t bytes);
    [[nodiscard]] bool finish();
    void refuse(std::size_t piece, int error);
    void abandon_all(InFlight batch);

    void tell(std::uint64_t bytes);

    const Windows& windows_;
    std::uint32_t channel_;
    int writer_;     ///< rank among writers
    int world_rank_; ///< rank in MPI_COMM_WORLD
    std::vector<Item> items_;
    std::size_t opened_ = 0; ///< number of started items
    std::deque<InFlight> in_flight_;
    std::optional<std::size_t> refused_; ///< the first piece of which a get failed
    std::string refusal_;                ///< MPI's error text
    MakeRequestTransfer make_request_transfer_;
    std::unique_ptr<RankTransfer> fallback_; ///< of the pieces from `refused_` on
    TileBuffers& buffers_;
    PendingSends& sends_;

    // Of the current piece: runs, or spans; both empty at its end.
    std::optional<RunCursor<std::byte>> to_;
    std::optional<RunCursor<const std::byte>> from_;
    std::optional<TileCutter> spans_;
    std::optional<Tile> span_; ///< the next one
};

} // namespace uzushio::staging::mpi
