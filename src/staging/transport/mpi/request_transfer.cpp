#include "staging/transport/mpi/request_transfer.hpp"

#include <utility>

#include "staging/datamodel/copy.hpp"
#include "staging/sentence.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/mpi/tags.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::mpi {
namespace {

/// Maximum tiles in flight, so that the writer does not wait for requests of small pieces.
constexpr std::size_t max_in_flight = 32;
/// Maximum of them that are buffered: the next one arrives while one is unpacked.
constexpr std::size_t max_buffered = 4;

} // namespace

RequestTransfer::RequestTransfer(const PeerRanks& peers, const Windows* windows,
                                 std::uint32_t channel, int writer, std::vector<Item> wanted,
                                 TileBuffers& buffers, LandingSlots& places, PendingSends& sends)
    : windows_(windows), channel_(channel), writer_(writer), world_rank_(peers.writer(writer)),
      items_(std::move(wanted)), buffers_(buffers), slots_(places), sends_(sends) {}

RequestTransfer::~RequestTransfer() {
    for (auto& receiving : in_flight_) {
        MPI_Cancel(&receiving.request);
        int done = 0;
        MPI_Test(&receiving.request, &done, MPI_STATUS_IGNORE);
        if (done) {
            if (receiving.buffer)
                buffers_.release(std::move(receiving.buffer));
            continue;
        }
        // MPI may still write into the buffer, which is kept, or into the user's memory.
        if (receiving.buffer)
            buffers_.discard();
        abandon(receiving.request, std::move(receiving.buffer));
    }
}

bool RequestTransfer::done() const {
    return requested_ == items_.size() && !tile_ && in_flight_.empty();
}

bool RequestTransfer::progress() {
    bool moved = finish();
    while (in_flight_.size() < max_in_flight && (tile_ || request_next()) && start())
        moved = true;
    if (!moved)
        listen();
    return moved;
}

bool RequestTransfer::request_next() {
    while (!tile_ && requested_ < items_.size()) {
        const auto& [fetch, mode] = items_[requested_++];
        const ArrayView& to = fetch->to;
        tiles_.emplace(to.count, to.components, to.scalar_bytes, fetch->request.order,
                       static_cast<std::int64_t>(mode.tile_bytes));
        tile_ = tiles_->next();
        if (tile_)
            sends_.send(PeerRanks::comm(), world_rank_, tag(channel_, MessageKind::request),
                        encode(FetchRequest{fetch->request, mode}));
    }
    return tile_.has_value();
}

bool RequestTransfer::start() {
    const auto& [fetch, mode] = items_[requested_ - 1];
    InFlight receiving{MPI_REQUEST_NULL, tile_->of(fetch->to), fetch->request.order, nullptr, {}};
    std::byte* into = receiving.to.data;
    auto bytes = static_cast<int>(receiving.to.bytes());
    if (mode.put) {
        if (buffered_ == max_buffered || slots_.empty())
            return false;
        receiving.place = slots_.back();
        slots_.pop_back();
        sends_.send(PeerRanks::comm(), world_rank_, tag(channel_, MessageKind::credit),
                    encode(Credit{*receiving.place}));
        into = nullptr;
        bytes = 0;
    } else if (!is_packed(receiving.to, receiving.order)) {
        if (buffered_ < max_buffered)
            receiving.buffer = buffers_.acquire();
        if (!receiving.buffer)
            return false;
        into = receiving.buffer.get();
    }
    buffered_ += receiving.buffer || receiving.place ? 1 : 0;
    MPI_Irecv(into, bytes, MPI_BYTE, world_rank_, tag(channel_, MessageKind::data),
              PeerRanks::comm(), &receiving.request);
    in_flight_.push_back(std::move(receiving));
    tile_ = tiles_->next();
    return true;
}

bool RequestTransfer::finish() {
    bool moved = false;
    while (!in_flight_.empty()) {
        InFlight& receiving = in_flight_.front();
        int done = 0;
        MPI_Test(&receiving.request, &done, MPI_STATUS_IGNORE);
        if (!done)
            return moved;
        buffered_ -= receiving.buffer || receiving.place ? 1 : 0;
        if (receiving.place) {
            MPI_Win_sync(windows_->put_window());
            copy(packed_tile<const std::byte>(windows_->put_buffer().data() + *receiving.place,
                                              receiving.to, receiving.order),
                 receiving.to);
            slots_.push_back(*receiving.place);
        } else if (receiving.buffer) {
            copy(
                packed_tile<const std::byte>(receiving.buffer.get(), receiving.to, receiving.order),
                receiving.to);
            buffers_.release(std::move(receiving.buffer));
        }
        in_flight_.pop_front();
        moved = true;
    }
    return moved;
}

void RequestTransfer::listen() {
    ReceivedBytes message;
    if (!receive(PeerRanks::comm(), world_rank_, tag(channel_, MessageKind::error), message))
        return;
    const Message reply = decode_message(message.bytes);
    const auto* error = std::get_if<Error>(&reply);
    throw StagingError(sentence(error != nullptr ? error->text : "Rank ", writer_,
                                " of the writer sent an unexpected answer: detach, and attach "
                                "again."));
}

} // namespace uzushio::staging::mpi
