#include "staging/transport/file/packed_stream.hpp"

#include <algorithm>
#include <cstring>

#include "staging/datamodel/copy.hpp"

namespace uzushio::staging::file {
namespace {

// Minimum length of a run for its own call; below `tiny_run`, a memcpy for each costs too much.
constexpr std::int64_t long_run = 64 << 10;
constexpr std::int64_t tiny_run = 512;

} // namespace

PackedStream::PackedStream(const ConstArrayView& view, ComponentOrder order,
                           std::span<std::byte> buffer)
    : view_(view), order_(order), buffer_(buffer), runs_(view, order) {}

std::span<const std::byte> PackedStream::next(std::int64_t max_bytes) {
    if (runs_.run_bytes() >= long_run)
        return runs_.next(max_bytes);
    if (ready_.empty())
        runs_.run_bytes() >= tiny_run ? gather() : pack();
    const auto bytes = ready_.first(std::min(ready_.size(), static_cast<std::size_t>(max_bytes)));
    ready_ = ready_.subspan(bytes.size());
    return bytes;
}

void PackedStream::gather() {
    std::size_t filled = 0;
    while (filled < buffer_.size()) {
        const auto run = runs_.next(static_cast<std::int64_t>(buffer_.size() - filled));
        if (run.empty())
            break;
        std::memcpy(buffer_.data() + filled, run.data(), run.size());
        filled += run.size();
    }
    ready_ = buffer_.first(filled);
}

void PackedStream::pack() {
    const bool planar = order_ == ComponentOrder::planar;
    const Extent& count = view_.count;
    const std::int64_t joined = planar ? 1 : view_.components;
    ready_ = {};
    if (view_.bytes() == 0 || component_ == view_.components)
        return;
    const std::int64_t value = joined * view_.scalar_bytes;
    const auto max_values = static_cast<std::int64_t>(buffer_.size()) / value;

    // As much as fits: planes, else rows, else a part of a row.
    Extent part{1, 1, std::min(count[2] - at_[2], max_values)};
    if (at_[1] == 0 && at_[2] == 0 && count[1] * count[2] <= max_values)
        part = {std::min(count[0] - at_[0], max_values / (count[1] * count[2])), count[1],
                count[2]};
    else if (at_[2] == 0 && count[2] <= max_values)
        part = {1, std::min(count[1] - at_[1], max_values / count[2]), count[2]};
    const Box box = Box::at(at_, part);
    const std::int64_t bytes = box.volume() * value;
    copy(view_.sub(box).select_components(component_, joined),
         packed_view(buffer_.data(), part, joined, view_.scalar_bytes));
    ready_ = buffer_.first(static_cast<std::size_t>(bytes));

    at_ = {box.upper[0] - 1, box.upper[1] - 1, box.upper[2]};
    for (std::size_t axis = 2; axis > 0 && at_[axis] == count[axis]; --axis)
        at_[axis] = 0, ++at_[axis - 1];
    if (at_[0] == count[0])
        at_ = {}, component_ += joined;
}

} // namespace uzushio::staging::file
