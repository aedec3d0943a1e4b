#include "staging/transport/mpi/piece_sender.hpp"

#include <algorithm>
#include <utility>

#include "staging/datamodel/copy.hpp"
#include "staging/datamodel/run_cursor.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/mpi/tags.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::mpi {
namespace {

/// Enough that the next tile is there when one has gone.
constexpr std::size_t most_under_way = 4;
/// Shorter runs are better packed than put one by one.
constexpr std::int64_t least_run = 4096;

} // namespace

PieceSender::PieceSender(const Link& link, WindowsToCome windows, std::uint32_t channel, int rank,
                         int to, const HeldSteps& steps, Buffers& buffers, Outgoing& outgoing)
    : windows_(std::move(windows)), channel_(channel), rank_(rank), to_(to), at_(link.reader(to)),
      steps_(steps), buffers_(buffers), outgoing_(outgoing) {}

PieceSender::~PieceSender() {
    for (auto& one : under_way_) {
        if (one.buffer)
            buffers_.forget();
        abandon(one.request, std::make_shared<UnderWay>(std::move(one)));
    }
}

void PieceSender::refuse(ErrorCode code, std::string text) {
    refused_ = true;
    outgoing_.send(Link::comm(), at_, tag(channel_, Talk::reply),
                   encode(Message(Error{code, std::move(text)})));
}

void PieceSender::take(std::span<const std::byte> bytes) {
    if (refused_)
        return;
    try {
        const Wish wish = decode_wish(bytes);
        const PieceRequest& request = wish.request;
        auto step = steps_.find(request.sequence);
        if (!step)
            return refuse(ErrorCode::gone, "Step " + std::to_string(request.sequence) +
                                               " is no longer on rank " + std::to_string(rank_) +
                                               " of the writer.");
        const auto view = select(*step, static_cast<std::uint32_t>(rank_), request);
        if (wish.manner.tile_bytes > most_tile_bytes && !is_packed(view, request.order))
            throw DecodeError("A request for a piece with gaps asks for tiles of " +
                              std::to_string(wish.manner.tile_bytes) + " bytes.");
        Job job{wish,
                std::move(step),
                view,
                {view.count, view.components, view.scalar_bytes, request.order,
                 static_cast<std::int64_t>(wish.manner.tile_bytes)},
                {}};
        job.tile = job.tiles.next();
        if (job.tile)
            jobs_.push_back(std::move(job));
    } catch (const StagingError& error) { // what decoding and selecting find
        refuse(ErrorCode::request, error.what());
    }
}

void PieceSender::grant(std::span<const std::byte> bytes) {
    if (const auto offset = decode_grant(bytes))
        grants_.push_back(*offset);
}

bool PieceSender::progress() {
    const auto through = std::erase_if(under_way_, [&](UnderWay& one) {
        int done = 0;
        MPI_Test(&one.request, &done, MPI_STATUS_IGNORE);
        if (done && one.buffer)
            buffers_.give_back(std::move(one.buffer));
        return done != 0;
    });
    bool moved = through > 0;
    while (!jobs_.empty() && under_way_.size() < most_under_way) {
        Job& job = jobs_.front();
        if (!(job.wish.manner.put ? put(job) : send(job)))
            break;
        moved = true;
        job.tile = job.tiles.next();
        if (!job.tile)
            jobs_.pop_front();
    }
    return moved;
}

bool PieceSender::send(Job& job) {
    const auto tile = job.tile->of(job.view);
    const Order order = job.wish.request.order;
    UnderWay one{MPI_REQUEST_NULL, job.step, nullptr};
    const std::byte* from = tile.data;
    if (!is_packed(tile, order)) {
        one.buffer = buffers_.take();
        if (!one.buffer)
            return false;
        copy(tile, packed_tile(one.buffer.get(), tile, order));
        from = one.buffer.get();
    }
    MPI_Isend(from, static_cast<int>(tile.bytes()), MPI_BYTE, at_, tag(channel_, Talk::data),
              Link::comm(), &one.request);
    under_way_.push_back(std::move(one));
    return true;
}

bool PieceSender::put(Job& job) {
    // The reader, which asks for it, may see them a moment before this rank does.
    if (grants_.empty() || !is_there(windows_))
        return false;
    const auto tile = job.tile->of(job.view);
    const Order order = job.wish.request.order;
    const MPI_Win window = windows_.get()->landing();
    const int target = windows_.get()->reader(to_);
    auto at = static_cast<MPI_Aint>(grants_.front());
    std::shared_ptr<std::byte[]> buffer;
    const auto put_bytes = [&](const std::byte* from, std::int64_t bytes) {
        MPI_Put(from, static_cast<int>(bytes), MPI_BYTE, target, at, static_cast<int>(bytes),
                MPI_BYTE, window);
        at += static_cast<MPI_Aint>(bytes);
    };
    RunCursor runs(tile, order);
    if (runs.run_bytes() >= std::min(least_run, tile.bytes())) {
        for (auto run = runs.next(); !run.empty(); run = runs.next())
            put_bytes(run.data(), static_cast<std::int64_t>(run.size()));
    } else {
        buffer = buffers_.take();
        if (!buffer)
            return false;
        copy(tile, packed_tile(buffer.get(), tile, order));
        put_bytes(buffer.get(), tile.bytes());
    }
    MPI_Win_flush(target, window);
    if (buffer)
        buffers_.give_back(std::move(buffer));
    grants_.pop_front();
    UnderWay word{};
    MPI_Isend(nullptr, 0, MPI_BYTE, at_, tag(channel_, Talk::data), Link::comm(), &word.request);
    under_way_.push_back(std::move(word));
    return true;
}

} // namespace uzushio::staging::mpi
