#include "staging/transport/mpi/get_transfer.hpp"

#include <algorithm>
#include <utility>

#include "staging/datamodel/copy.hpp"
#include "staging/sentence.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/mpi/tags.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::mpi {
namespace {

/// Minimum length of runs for a get each; for shorter ones, one get and a copy are faster.
constexpr std::int64_t min_run = 2048;
/// A gap of this many bytes costs about as much as one more get.
constexpr std::int64_t max_gap = 8192;
/// Of one get: MPI counts in int, and other transfers are served in between.
constexpr std::int64_t max_bytes = std::int64_t{16} << 20;
constexpr std::size_t max_gets = 256; ///< of a batch
constexpr std::size_t max_in_flight = 8;

/// Return the largest parts without large gaps that fit a buffer; each is fetched with one get.
TileCutter spans_of(const ConstArrayView& from, ComponentOrder order) {
    const std::int64_t components = order == ComponentOrder::planar ? 1 : from.components;
    ConstArrayView part = from.select_components(0, components);
    part.count = {1, 1, 1};
    for (std::size_t axis = 3; axis-- > 0;) {
        const std::int64_t span = part.span();
        const std::int64_t stride = from.layout.strides[axis];
        if (stride - span > max_gap)
            break;
        const auto fit = (static_cast<std::int64_t>(GetTransfer::span_bytes) - span) / stride + 1;
        part.count[axis] = std::clamp<std::int64_t>(fit, 1, from.count[axis]);
        if (part.count[axis] < from.count[axis])
            break;
    }
    return {from.count, from.components, part.count, components};
}

} // namespace

GetTransfer::GetTransfer(const PeerRanks& peers, const Windows& windows, std::uint32_t channel,
                         int writer, std::vector<Item> wanted, TileBuffers& buffers,
                         PendingSends& sends, MakeRequestTransfer make_request_transfer)
    : windows_(windows), channel_(channel), writer_(writer), world_rank_(peers.writer(writer)),
      items_(std::move(wanted)), make_request_transfer_(std::move(make_request_transfer)),
      buffers_(buffers), sends_(sends) {
    std::uint64_t bytes = 0;
    for (const Item& piece : items_)
        bytes += static_cast<std::uint64_t>(piece.to.bytes());
    tell(std::max<std::uint64_t>(1, bytes));
}

GetTransfer::~GetTransfer() {
    if (!fallback_)
        tell(0);
    for (auto& batch : in_flight_)
        abandon_all(std::move(batch));
}

void GetTransfer::abandon_all(InFlight batch) {
    if (batch.buffer)
        buffers_.discard();
    const auto memory = std::make_shared<InFlight>(std::move(batch));
    for (const MPI_Request request : memory->requests)
        abandon(request, memory);
}

void GetTransfer::tell(std::uint64_t bytes) {
    sends_.send(PeerRanks::comm(), world_rank_, tag(channel_, MessageKind::progress_hint),
                encode(ProgressHint{bytes}));
}

bool GetTransfer::done() const {
    if (fallback_)
        return fallback_->done();
    return !refused_ && opened_ == items_.size() && !from_ && !span_ && in_flight_.empty();
}

void GetTransfer::throw_if_unreachable() const {
    if (fallback_)
        throw PeerGone(sentence(
            "The memory of the writer's rank ", writer_, " can no longer be read (", refusal_,
            "), and it does not answer: the writer has closed the stream without "
            "waiting for this reader, or is stopped."));
}

bool GetTransfer::progress() {
    if (fallback_)
        return fallback_->progress();
    bool moved = finish();
    while (!refused_ && in_flight_.size() < max_in_flight && (from_ || span_ || open()) && start())
        moved = true;
    if (refused_ && in_flight_.empty()) {
        tell(0);
        fallback_ = make_request_transfer_(*refused_);
        moved = true;
    }
    return moved;
}

bool GetTransfer::open() {
    while (opened_ < items_.size()) {
        const Item& piece = items_[opened_++];
        if (piece.to.bytes() == 0)
            continue;
        from_.emplace(piece.from, piece.order);
        to_.emplace(piece.to, piece.order);
        const std::int64_t run = std::min(from_->run_bytes(), to_->run_bytes());
        if (run >= std::min(min_run, piece.to.bytes()))
            return true;
        from_.reset();
        to_.reset();
        spans_.emplace(spans_of(piece.from, piece.order));
        span_ = spans_->next();
        return true;
    }
    return false;
}

bool GetTransfer::start() {
    InFlight batch;
    batch.piece = opened_ - 1;
    if (from_)
        get_runs(batch);
    else if (!get_spans(batch))
        return false;
    in_flight_.push_back(std::move(batch));
    return true;
}

void GetTransfer::get_runs(InFlight& batch) {
    for (std::int64_t bytes = 0; bytes < max_bytes && batch.requests.size() < max_gets;) {
        auto from = from_->next(max_bytes);
        bytes += static_cast<std::int64_t>(from.size());
        while (!from.empty()) {
            const auto to = to_->next(static_cast<std::int64_t>(from.size()));
            if (!get(batch, to.data(), from.data(), to.size()))
                return;
            from = from.subspan(to.size());
        }
        if (from_->left() == 0) {
            from_.reset();
            to_.reset();
            return;
        }
    }
}

bool GetTransfer::get_spans(InFlight& batch) {
    batch.buffer = buffers_.acquire();
    if (!batch.buffer)
        return false;
    const Item& piece = items_[opened_ - 1];
    for (std::size_t at = 0; span_ && batch.requests.size() < max_gets; span_ = spans_->next()) {
        auto from = span_->of(piece.from);
        const auto bytes = static_cast<std::size_t>(from.span());
        if (at + bytes > buffers_.bytes())
            break;
        if (!get(batch, batch.buffer.get() + at, from.data, bytes))
            break;
        from.data = batch.buffer.get() + at;
        batch.parts.push_back({from, span_->of(piece.to)});
        at += (bytes + 63) / 64 * 64;
    }
    return true;
}

bool GetTransfer::get(InFlight& batch, std::byte* into, const std::byte* from, std::size_t bytes) {
    MPI_Aint address = 0;
    MPI_Get_address(from, &address);
    const auto count = static_cast<int>(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = MPI_Rget(into, count, MPI_BYTE, Windows::writer(writer_), address, count,
                               MPI_BYTE, windows_.get_window(), &request);
    if (error == MPI_SUCCESS)
        batch.requests.push_back(request);
    else
        refuse(batch.piece, error);
    return error == MPI_SUCCESS;
}

void GetTransfer::refuse(std::size_t piece, int error) {
    refused_ = std::min(piece, refused_.value_or(piece));
    refusal_ = text_of(error);
}

bool GetTransfer::finish() {
    bool moved = false;
    while (!in_flight_.empty()) {
        InFlight& batch = in_flight_.front();
        int done = 0;
        const int error = MPI_Testall(static_cast<int>(batch.requests.size()),
                                      batch.requests.data(), &done, MPI_STATUSES_IGNORE);
        if (error != MPI_SUCCESS) { // it is unknown which of them are complete
            refuse(batch.piece, error);
            abandon_all(std::move(batch));
            in_flight_.pop_front();
            return true;
        }
        if (!done)
            return moved;
        for (const Part& part : batch.parts)
            copy(part.from, part.to);
        if (batch.buffer)
            buffers_.release(std::move(batch.buffer));
        in_flight_.pop_front();
        moved = true;
    }
    return moved;
}

} // namespace uzushio::staging::mpi
