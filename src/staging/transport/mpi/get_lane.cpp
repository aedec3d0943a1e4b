#include "staging/transport/mpi/get_lane.hpp"

#include <algorithm>
#include <utility>

#include "staging/datamodel/copy.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/mpi/tags.hpp"
#include "staging/transport/mpi/wish.hpp"

namespace uzushio::staging::mpi {
namespace {

/// From here on a get for each run is faster than one for all, with a copy after it.
constexpr std::int64_t least_run = 2048;
/// A gap of this many bytes costs about as much as one get more.
constexpr std::int64_t most_gap = 8192;
/// Of one get: MPI counts in int, and other lanes want their turn.
constexpr std::int64_t most_bytes = std::int64_t{16} << 20;
constexpr std::size_t most_gets = 256; ///< of a batch
constexpr std::size_t most_under_way = 8;

/// From the first byte of a view to its last, both included.
std::int64_t span_of(const ConstArrayView& view) {
    std::int64_t bytes = view.scalar_bytes + (view.components - 1) * view.layout.component_stride;
    for (std::size_t i = 0; i < 3; ++i)
        bytes += (view.count[i] - 1) * view.layout.strides[i];
    return bytes;
}

/// Parts that each come with one get: the largest that have no large gaps and fit a buffer.
TileCutter spans_of(const ConstArrayView& from, Order order) {
    const std::int64_t components = order == Order::planar ? 1 : from.components;
    ConstArrayView part = from.some(0, components);
    part.count = {1, 1, 1};
    for (std::size_t axis = 3; axis-- > 0;) {
        const std::int64_t span = span_of(part);
        const std::int64_t stride = from.layout.strides[axis];
        if (stride - span > most_gap)
            break;
        const auto fit = (static_cast<std::int64_t>(GetLane::span_bytes) - span) / stride + 1;
        part.count[axis] = std::clamp<std::int64_t>(fit, 1, from.count[axis]);
        if (part.count[axis] < from.count[axis])
            break;
    }
    return {from.count, from.components, part.count, components};
}

} // namespace

GetLane::GetLane(const Link& link, const Windows& windows, std::uint32_t channel, int writer,
                 std::vector<Wanted> wanted, Buffers& buffers, Outgoing& outgoing)
    : windows_(windows), channel_(channel), writer_(writer), at_(link.writer(writer)),
      wanted_(std::move(wanted)), buffers_(buffers), outgoing_(outgoing) {
    std::uint64_t bytes = 0;
    for (const Wanted& piece : wanted_)
        bytes += static_cast<std::uint64_t>(piece.to.bytes());
    tell(std::max<std::uint64_t>(1, bytes));
}

GetLane::~GetLane() {
    tell(0);
    for (auto& batch : under_way_)
        abandon_all(std::move(batch));
}

void GetLane::abandon_all(UnderWay batch) {
    if (batch.buffer)
        buffers_.forget();
    const auto memory = std::make_shared<UnderWay>(std::move(batch));
    for (const MPI_Request request : memory->requests)
        abandon(request, memory);
}

void GetLane::tell(std::uint64_t bytes) {
    outgoing_.send(Link::comm(), at_, tag(channel_, Talk::hurry), encode_hurry(bytes));
}

bool GetLane::done() const {
    return !refused_ && opened_ == wanted_.size() && !from_ && !span_ && under_way_.empty();
}

std::optional<std::size_t> GetLane::refused() const {
    return under_way_.empty() ? refused_ : std::nullopt;
}

bool GetLane::progress() {
    bool moved = finish();
    while (!refused_ && under_way_.size() < most_under_way && (from_ || span_ || open()) && start())
        moved = true;
    return moved;
}

bool GetLane::open() {
    while (opened_ < wanted_.size()) {
        const Wanted& piece = wanted_[opened_++];
        if (piece.to.bytes() == 0)
            continue;
        from_.emplace(piece.from, piece.order);
        to_.emplace(piece.to, piece.order);
        const std::int64_t run = std::min(from_->run_bytes(), to_->run_bytes());
        if (run >= std::min(least_run, piece.to.bytes()))
            return true;
        from_.reset();
        to_.reset();
        spans_.emplace(spans_of(piece.from, piece.order));
        span_ = spans_->next();
        return true;
    }
    return false;
}

bool GetLane::start() {
    UnderWay batch;
    batch.piece = opened_ - 1;
    if (from_)
        get_runs(batch);
    else if (!get_spans(batch))
        return false;
    under_way_.push_back(std::move(batch));
    return true;
}

void GetLane::get_runs(UnderWay& batch) {
    for (std::int64_t bytes = 0; bytes < most_bytes && batch.requests.size() < most_gets;) {
        auto from = from_->next(most_bytes);
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

bool GetLane::get_spans(UnderWay& batch) {
    batch.buffer = buffers_.take();
    if (!batch.buffer)
        return false;
    const Wanted& piece = wanted_[opened_ - 1];
    for (std::size_t at = 0; span_ && batch.requests.size() < most_gets; span_ = spans_->next()) {
        auto from = span_->of(piece.from);
        const auto bytes = static_cast<std::size_t>(span_of(from));
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

bool GetLane::get(UnderWay& batch, std::byte* into, const std::byte* from, std::size_t bytes) {
    MPI_Aint address = 0;
    MPI_Get_address(from, &address);
    const auto count = static_cast<int>(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = MPI_Rget(into, count, MPI_BYTE, Windows::writer(writer_), address, count,
                               MPI_BYTE, windows_.exposed(), &request);
    if (error == MPI_SUCCESS)
        batch.requests.push_back(request);
    else
        refuse(batch.piece, error);
    return error == MPI_SUCCESS;
}

void GetLane::refuse(std::size_t piece, int error) {
    refused_ = std::min(piece, refused_.value_or(piece));
    refusal_ = text_of(error);
}

bool GetLane::finish() {
    bool moved = false;
    while (!under_way_.empty()) {
        UnderWay& batch = under_way_.front();
        int done = 0;
        const int error = MPI_Testall(static_cast<int>(batch.requests.size()),
                                      batch.requests.data(), &done, MPI_STATUSES_IGNORE);
        if (error != MPI_SUCCESS) { // nobody knows which of them are through
            refuse(batch.piece, error);
            abandon_all(std::move(batch));
            under_way_.pop_front();
            return true;
        }
        if (!done)
            return moved;
        for (const Part& part : batch.parts)
            copy(part.from, part.to);
        if (batch.buffer)
            buffers_.give_back(std::move(batch.buffer));
        under_way_.pop_front();
        moved = true;
    }
    return moved;
}

} // namespace uzushio::staging::mpi
