#include "staging/transport/mpi/ask_lane.hpp"

#include <utility>

#include "staging/datamodel/copy.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/mpi/tags.hpp"

namespace uzushio::staging::mpi {
namespace {

/// Tiles under way: enough that the writer does not wait for requests for small pieces.
constexpr std::size_t most_under_way = 32;
/// Those of them that take memory: the next one comes while one is unpacked.
constexpr std::size_t most_buffered = 4;

} // namespace

AskLane::AskLane(const Link& link, const Windows* windows, std::uint32_t channel, int writer,
                 std::vector<Wanted> wanted, Buffers& buffers, Places& places, Outgoing& outgoing)
    : windows_(windows), channel_(channel), writer_(writer), at_(link.writer(writer)),
      wanted_(std::move(wanted)), buffers_(buffers), places_(places), outgoing_(outgoing) {}

AskLane::~AskLane() {
    for (auto& one : under_way_) {
        MPI_Cancel(&one.request);
        int done = 0;
        MPI_Test(&one.request, &done, MPI_STATUS_IGNORE);
        if (done) {
            if (one.buffer)
                buffers_.give_back(std::move(one.buffer));
            continue;
        }
        // MPI goes on to write: into a buffer that is kept, or where the user wanted it.
        if (one.buffer)
            buffers_.forget();
        abandon(one.request, std::move(one.buffer));
    }
}

bool AskLane::done() const { return asked_ == wanted_.size() && !tile_ && under_way_.empty(); }

bool AskLane::progress() {
    bool moved = finish();
    while (under_way_.size() < most_under_way && (tile_ || ask()) && start())
        moved = true;
    if (!moved)
        listen();
    return moved;
}

bool AskLane::ask() {
    while (!tile_ && asked_ < wanted_.size()) {
        const auto& [fetch, manner] = wanted_[asked_++];
        const ArrayView& to = fetch->to;
        tiles_.emplace(to.count, to.components, to.scalar_bytes, fetch->request.order,
                       static_cast<std::int64_t>(manner.tile_bytes));
        tile_ = tiles_->next();
        if (tile_)
            outgoing_.send(Link::comm(), at_, tag(channel_, Talk::request),
                           encode(Wish{fetch->request, manner}));
    }
    return tile_.has_value();
}

bool AskLane::start() {
    const auto& [fetch, manner] = wanted_[asked_ - 1];
    UnderWay one{MPI_REQUEST_NULL, tile_->of(fetch->to), fetch->request.order, nullptr, {}};
    std::byte* into = one.to.data;
    auto bytes = static_cast<int>(one.to.bytes());
    if (manner.put) {
        if (buffered_ == most_buffered || places_.empty())
            return false;
        one.place = places_.back();
        places_.pop_back();
        outgoing_.send(Link::comm(), at_, tag(channel_, Talk::grant), encode_grant(*one.place));
        into = nullptr;
        bytes = 0;
    } else if (!is_packed(one.to, one.order)) {
        if (buffered_ < most_buffered)
            one.buffer = buffers_.take();
        if (!one.buffer)
            return false;
        into = one.buffer.get();
    }
    buffered_ += one.buffer || one.place ? 1 : 0;
    MPI_Irecv(into, bytes, MPI_BYTE, at_, tag(channel_, Talk::data), Link::comm(), &one.request);
    under_way_.push_back(std::move(one));
    tile_ = tiles_->next();
    return true;
}

bool AskLane::finish() {
    bool moved = false;
    while (!under_way_.empty()) {
        UnderWay& one = under_way_.front();
        int done = 0;
        MPI_Test(&one.request, &done, MPI_STATUS_IGNORE);
        if (!done)
            return moved;
        buffered_ -= one.buffer || one.place ? 1 : 0;
        if (one.place) {
            MPI_Win_sync(windows_->landing());
            copy(packed_tile<const std::byte>(windows_->landed().data() + *one.place, one.to,
                                              one.order),
                 one.to);
            places_.push_back(*one.place);
        } else if (one.buffer) {
            copy(packed_tile<const std::byte>(one.buffer.get(), one.to, one.order), one.to);
            buffers_.give_back(std::move(one.buffer));
        }
        under_way_.pop_front();
        moved = true;
    }
    return moved;
}

void AskLane::listen() {
    Received message;
    if (!receive(Link::comm(), at_, tag(channel_, Talk::reply), message))
        return;
    const Message reply = decode_message(message.bytes);
    const auto* error = std::get_if<Error>(&reply);
    throw StagingError(error != nullptr ? error->text
                                        : "Rank " + std::to_string(writer_) +
                                              " of the writer answers something else than it was "
                                              "asked: detach, and attach again.");
}

} // namespace uzushio::staging::mpi
