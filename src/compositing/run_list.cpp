#include "compositing/run_list.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "compositing/blend_kernels.hpp"

namespace uzushio::compositing {

namespace {

constexpr std::size_t groups_per_call = 256; // of the activity kernel

/// Append the active pixels of contiguous memory that holds the positions from `position` on.
void find_active_runs_in_memory(const ImageShape& shape, ChannelWidth width,
                                const std::byte* pixels, int count, int position, RunList& runs) {
    const auto& kernel = blend_kernels(shape.format);
    const std::size_t bytes = shape.bytes(width);
    constexpr int group = static_cast<int>(group_pixels);
    std::uint8_t active[groups_per_call];
    bool bridge = false; // the pixels before this memory are unknown
    int done = 0;
    while (count - done >= group) {
        const std::size_t groups =
            std::min(groups_per_call, static_cast<std::size_t>(count - done) / group_pixels);
        kernel.activity(pixels + static_cast<std::size_t>(done) * bytes, groups, width, shape.far,
                        active);
        // Neighbouring groups are mostly alike: step from change to change.
        const auto* const end = active + groups;
        for (const auto* g = active; g != end;) {
            const auto* const other = std::find(g, end, static_cast<std::uint8_t>(*g == 0));
            const int from = position + done + group * static_cast<int>(g - active);
            if (*g != 0)
                runs.add(from, from + group * static_cast<int>(other - g),
                         std::exchange(bridge, true));
            g = other;
        }
        done += group * static_cast<int>(groups);
    }
    if (done == count)
        return;
    alignas(16) std::byte rest[group_pixels * 16];
    kernel.clear(rest, group_pixels, width, shape.far);
    std::memcpy(rest, pixels + static_cast<std::size_t>(done) * bytes,
                static_cast<std::size_t>(count - done) * bytes);
    kernel.activity(rest, 1, width, shape.far, active);
    if (active[0] != 0)
        runs.add(position + done, position + count, bridge);
}

} // namespace

void RunList::add(int begin, int end, bool bridge) {
    assert(begin >= end_ && end > begin);
    if (!runs_.empty() && (begin == end_ || (bridge && begin - end_ < min_gap)))
        runs_.back().count += static_cast<std::uint32_t>(end - end_);
    else
        runs_.push_back(
            {static_cast<std::uint32_t>(begin - end_), static_cast<std::uint32_t>(end - begin)});
    end_ = end;
}

void find_active_runs(const ImageShape& shape, const ImageView& image, Range interval,
                      RunList& runs) {
    runs.clear();
    if (image.bounds.empty())
        return;
    const auto& [x, y] = image.bounds;
    const std::size_t bytes = shape.bytes(image.width);
    for (int position = interval.begin; position < interval.end;) {
        const int until = std::min(interval.end, shape.interlacing.contiguous_until(position));
        const int first = shape.interlacing.index(position);
        const Range memory{first, first + until - position};
        // Rows of full width are contiguous.
        const bool rows = x.size() < shape.width;
        const int pieces = rows ? y.size() : 1;
        const int begin = rows ? std::max(0, memory.begin / shape.width - y.begin) : 0;
        for (int i = begin; i < pieces; ++i) {
            const Range piece = rows ? Range{(y.begin + i) * shape.width + x.begin,
                                             (y.begin + i) * shape.width + x.end}
                                     : Range{y.begin * shape.width, y.end * shape.width};
            if (piece.begin >= memory.end)
                break;
            const Range part = overlap(piece, memory);
            if (part.size() > 0)
                find_active_runs_in_memory(
                    shape, image.width, image.pixels + static_cast<std::size_t>(part.begin) * bytes,
                    part.size(), position - interval.begin + part.begin - memory.begin, runs);
        }
        position = until;
    }
}

} // namespace uzushio::compositing
