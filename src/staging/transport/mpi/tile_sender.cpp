#include "staging/transport/mpi/tile_sender.hpp"

#include <algorithm>
#include <utility>

#include "staging/datamodel/copy.hpp"
#include "staging/datamodel/run_cursor.hpp"
#include "staging/sentence.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/mpi/tags.hpp"
#include "staging/transport/mpi/tile_sizes.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::mpi {
namespace {

/// Enough that the next tile is ready when one is sent.
constexpr std::size_t max_in_flight = 4;
/// Shorter runs are packed instead of put one by one.
constexpr std::int64_t min_run = 4096;

} // namespace

TileSender::TileSender(const PeerRanks& peers, PendingWindows windows, std::uint32_t channel,
                       int rank, int to, const HeldSteps& steps, TileBuffers& buffers,
                       PendingSends& sends)
    : windows_(std::move(windows)), channel_(channel), rank_(rank), reader_(to),
      world_rank_(peers.reader(to)), steps_(steps), buffers_(buffers), sends_(sends) {}

TileSender::~TileSender() {
    for (auto& sending : in_flight_) {
        if (sending.buffer)
            buffers_.discard();
        abandon(sending.request, std::make_shared<InFlight>(std::move(sending)));
    }
}

void TileSender::refuse(ErrorCode code, std::string text) {
    refused_ = true;
    sends_.send(PeerRanks::comm(), world_rank_, tag(channel_, MessageKind::error),
                encode(Message(Error{code, std::move(text)})));
}

void TileSender::take(std::span<const std::byte> bytes) {
    if (refused_)
        return;
    try {
        const auto request = decode_as<FetchRequest>(bytes);
        const PieceRequest& piece = request.piece;
        const std::uint64_t tile_bytes = request.mode.tile_bytes;
        if (tile_bytes == 0 || tile_bytes > (request.mode.put ? max_put_bytes : max_direct_bytes))
            throw DecodeError(
                sentence("A request for a piece has tiles of ", tile_bytes, " bytes."));
        auto step = steps_.find(piece.sequence);
        if (!step)
            return refuse(ErrorCode::gone,
                          sentence("Step ", piece.sequence, " is no longer on rank ", rank_,
                                   " of the writer."));
        const auto view = select(*step, static_cast<std::uint32_t>(rank_), piece);
        if (tile_bytes > max_tile_bytes && !is_packed(view, piece.order))
            throw DecodeError(
                sentence("A request for a piece with gaps has tiles of ", tile_bytes, " bytes."));
        PieceTransfer transfer{request,
                               std::move(step),
                               view,
                               {view.count, view.components, view.scalar_bytes, piece.order,
                                static_cast<std::int64_t>(tile_bytes)},
                               {}};
        transfer.tile = transfer.tiles.next();
        if (transfer.tile)
            transfers_.push_back(std::move(transfer));
    } catch (const StagingError& error) { // from decoding and selecting
        refuse(ErrorCode::request, error.what());
    }
}

void TileSender::add_credit(std::span<const std::byte> bytes) {
    const std::uint64_t offset = decode_as<Credit>(bytes).offset;
    if (offset > Windows::put_buffer_bytes - max_put_bytes)
        throw DecodeError(sentence("A credit is for byte ", offset, ", beyond the put window."));
    credits_.push_back(offset);
}

bool TileSender::progress() {
    const auto through = std::erase_if(in_flight_, [&](InFlight& sending) {
        int done = 0;
        MPI_Test(&sending.request, &done, MPI_STATUS_IGNORE);
        if (done && sending.buffer)
            buffers_.release(std::move(sending.buffer));
        return done != 0;
    });
    bool moved = through > 0;
    while (!transfers_.empty() && in_flight_.size() < max_in_flight) {
        PieceTransfer& transfer = transfers_.front();
        if (!(transfer.request.mode.put ? put(transfer) : send(transfer)))
            break;
        moved = true;
        transfer.tile = transfer.tiles.next();
        if (!transfer.tile)
            transfers_.pop_front();
    }
    return moved;
}

bool TileSender::send(PieceTransfer& transfer) {
    const auto tile = transfer.tile->of(transfer.view);
    const ComponentOrder order = transfer.request.piece.order;
    InFlight sending{MPI_REQUEST_NULL, transfer.step, nullptr};
    const std::byte* from = tile.data;
    if (!is_packed(tile, order)) {
        sending.buffer = buffers_.acquire();
        if (!sending.buffer)
            return false;
        copy(tile, packed_tile(sending.buffer.get(), tile, order));
        from = sending.buffer.get();
    }
    MPI_Isend(from, static_cast<int>(tile.bytes()), MPI_BYTE, world_rank_,
              tag(channel_, MessageKind::data), PeerRanks::comm(), &sending.request);
    in_flight_.push_back(std::move(sending));
    return true;
}

bool TileSender::put(PieceTransfer& transfer) {
    // The windows may be ready at the reader, which requests puts, a moment before this rank.
    if (credits_.empty() || !is_ready(windows_))
        return false;
    const auto tile = transfer.tile->of(transfer.view);
    const ComponentOrder order = transfer.request.piece.order;
    const MPI_Win window = windows_.get()->put_window();
    const int target = windows_.get()->reader(reader_);
    auto at = static_cast<MPI_Aint>(credits_.front());
    std::shared_ptr<std::byte[]> buffer;
    const auto put_bytes = [&](const std::byte* from, std::int64_t bytes) {
        MPI_Put(from, static_cast<int>(bytes), MPI_BYTE, target, at, static_cast<int>(bytes),
                MPI_BYTE, window);
        at += static_cast<MPI_Aint>(bytes);
    };
    RunCursor runs(tile, order);
    if (runs.run_bytes() >= std::min(min_run, tile.bytes())) {
        for (auto run = runs.next(); !run.empty(); run = runs.next())
            put_bytes(run.data(), static_cast<std::int64_t>(run.size()));
    } else {
        buffer = buffers_.acquire();
        if (!buffer)
            return false;
        copy(tile, packed_tile(buffer.get(), tile, order));
        put_bytes(buffer.get(), tile.bytes());
    }
    MPI_Win_flush(target, window);
    if (buffer)
        buffers_.release(std::move(buffer));
    credits_.pop_front();
    InFlight word{};
    MPI_Isend(nullptr, 0, MPI_BYTE, world_rank_, tag(channel_, MessageKind::data),
              PeerRanks::comm(), &word.request);
    in_flight_.push_back(std::move(word));
    return true;
}

} // namespace uzushio::staging::mpi
