#include "staging/transport/file/packed_stream.hpp"

#include <algorithm>

#include "staging/datamodel/copy.hpp"

namespace uzushio::staging::file {
namespace {

// Minimum length of a run for its own call; below `tiny_run`, a memcpy for each costs too much.
constexpr std::int64_t long_run = 64 << 10;
constexpr std::int64_t tiny_run = 512;

} // namespace

PackedStream::PackedStream(const ConstArrayView& view, ComponentOrder order,
                           std::span<std::byte> buffer)
    : view_(view), order_(order), buffer_(buffer), runs_(view, order),
      tiles_(view.count, view.components, view.scalar_bytes, order, std::ssize(buffer)) {}

std::span<const std::byte> PackedStream::next(std::int64_t max_bytes) {
    if (runs_.run_bytes() >= long_run)
        return runs_.next(max_bytes);
    if (ready_.empty())
        runs_.run_bytes() >= tiny_run ? pack_runs() : pack_tile();
    const auto bytes = ready_.first(std::min(ready_.size(), static_cast<std::size_t>(max_bytes)));
    ready_ = ready_.subspan(bytes.size());
    return bytes;
}

void PackedStream::pack_runs() {
    ready_ = buffer_.first(std::min(buffer_.size(), static_cast<std::size_t>(runs_.left())));
    pack(runs_, buffer_.first(ready_.size()));
}

void PackedStream::pack_tile() {
    const auto tile = tiles_.next();
    if (!tile)
        return;
    const ConstArrayView values = tile->of(view_);
    copy(values, packed_tile(buffer_.data(), values, order_));
    ready_ = buffer_.first(static_cast<std::size_t>(values.bytes()));
}

} // namespace uzushio::staging::file
