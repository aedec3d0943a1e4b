#include "compositing/runs.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace uzushio::compositing {

namespace {

// A gap shorter than this costs more as a run than as pixels.
constexpr int least_gap = 8;

// One byte more than a multiple of 4, as no message of whole pixels has.
struct Trailer {
    std::uint32_t runs = 0;
    std::uint32_t pixels = 0;
    std::uint8_t width = 0;
};
constexpr std::size_t trailer_bytes = 9;

// Groups whose activity is found in one call.
constexpr std::size_t some_groups = 256;

/// Note the active pixels of memory that holds the positions from `position` on, whatever comes
/// before them.
void scan_memory(const Shape& shape, Width width, const std::byte* pixels, int count, int position,
                 RunList& runs) {
    const auto& kernel = kernels(shape.format);
    const std::size_t bytes = shape.bytes(width);
    constexpr int group = static_cast<int>(group_pixels);
    std::uint8_t active[some_groups];
    bool join = false; // with what is outside of this memory: nobody knows what lies between
    int done = 0;
    while (count - done >= group) {
        const std::size_t groups =
            std::min(some_groups, static_cast<std::size_t>(count - done) / group_pixels);
        kernel.activity(pixels + static_cast<std::size_t>(done) * bytes, groups, width, shape.far,
                        active);
        // Most often all groups are alike.
        const auto* const end = active + groups;
        for (const auto* g = active; g != end;) {
            const auto* const other = std::find(g, end, static_cast<std::uint8_t>(*g == 0));
            const int from = position + done + group * static_cast<int>(g - active);
            if (*g != 0)
                runs.add(from, from + group * static_cast<int>(other - g),
                         std::exchange(join, true));
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
        runs.add(position + done, position + count, join);
}

} // namespace

void RunList::add(int begin, int end, bool join) {
    assert(begin >= end_ && end > begin);
    if (!runs_.empty() && (begin == end_ || (join && begin - end_ < least_gap)))
        runs_.back().count += static_cast<std::uint32_t>(end - end_);
    else
        runs_.push_back(
            {static_cast<std::uint32_t>(begin - end_), static_cast<std::uint32_t>(end - begin)});
    end_ = end;
}

void scan(const Shape& shape, const Picture& picture, Range interval, RunList& runs) {
    runs.start();
    if (picture.bounds.empty())
        return;
    const auto& [x, y] = picture.bounds;
    const std::size_t bytes = shape.bytes(picture.width);
    for (int position = interval.begin; position < interval.end;) {
        const int until = std::min(interval.end, shape.order.contiguous_until(position));
        const int first = shape.order.index(position);
        const Range memory{first, first + until - position};
        // Rows of full width are one piece of memory.
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
                scan_memory(shape, picture.width,
                            picture.pixels + static_cast<std::size_t>(part.begin) * bytes,
                            part.size(), position - interval.begin + part.begin - memory.begin,
                            runs);
        }
        position = until;
    }
}

void Encoder::start(const Shape& shape, int pixels, Width width, std::byte* to) {
    shape_ = &shape;
    width_ = width;
    begin_ = end_ = to;
    pixels_ = pixels;
    skipped_ = 0;
    runs_.clear();
}

void Encoder::flush() {
    if (skipped_ == 0 && !runs_.empty())
        return;
    if ((skipped_ >= least_gap || runs_.empty()) && runs_.size() < most_) {
        const bool fill = skipped_ < least_gap;
        runs_.push_back({fill ? 0 : static_cast<std::uint32_t>(skipped_), 0});
        if (!fill)
            skipped_ = 0;
    }
    if (skipped_ > 0) {
        const auto count = static_cast<std::size_t>(std::exchange(skipped_, 0));
        kernels(shape_->format).clear(end_, count, width_, shape_->far);
        end_ += count * shape_->bytes(width_);
        runs_.back().count += static_cast<std::uint32_t>(count);
    }
}

std::byte* Encoder::append(int pixels) {
    flush();
    runs_.back().count += static_cast<std::uint32_t>(pixels);
    return std::exchange(end_, end_ + static_cast<std::size_t>(pixels) * shape_->bytes(width_));
}

std::size_t Encoder::finish() {
    if (skipped_ > 0 && skipped_ < least_gap)
        flush();
    const auto whole = static_cast<std::size_t>(pixels_) * shape_->bytes(width_);
    const auto packed = static_cast<std::size_t>(end_ - begin_);
    if (packed == whole)
        return whole;
    const std::size_t bytes = runs_.size() * sizeof(Run);
    assert(packed + bytes + trailer_bytes < whole);
    if (bytes > 0)
        std::memcpy(end_, runs_.data(), bytes);
    const auto runs = static_cast<std::uint32_t>(runs_.size());
    const auto pixels = static_cast<std::uint32_t>(packed / shape_->bytes(width_));
    std::memcpy(end_ + bytes, &runs, 4);
    std::memcpy(end_ + bytes + 4, &pixels, 4);
    end_[bytes + 8] = static_cast<std::byte>(width_);
    return packed + bytes + trailer_bytes;
}

Part decode(const Shape& shape, Range interval, const std::byte* message, std::size_t bytes) {
    const auto pixels = static_cast<std::size_t>(interval.size());
    Part part{interval, Part::Kind::dense, Width::narrow, message, {}};
    if (bytes == pixels * shape.bytes(Width::narrow))
        return part;
    part.width = Width::wide;
    if (bytes == pixels * shape.bytes(Width::wide))
        return part;

    part.kind = Part::Kind::packed;
    Trailer trailer;
    std::uint64_t covered = 0, active = 0;
    bool sound = bytes >= trailer_bytes;
    if (sound) {
        const std::byte* const end = message + bytes - trailer_bytes;
        std::memcpy(&trailer.runs, end, 4);
        std::memcpy(&trailer.pixels, end + 4, 4);
        trailer.width = static_cast<std::uint8_t>(end[8]);
        sound = trailer.width <= 1;
        part.width = static_cast<Width>(trailer.width & 1U);
        const std::uint64_t packed = trailer.pixels * std::uint64_t{shape.bytes(part.width)};
        sound = sound && packed + trailer.runs * sizeof(Run) + trailer_bytes == bytes;
        if (sound)
            part.runs = {reinterpret_cast<const Run*>(message + packed), trailer.runs};
        for (const auto& run : part.runs) {
            covered += std::uint64_t{run.skip} + run.count;
            active += run.count;
        }
    }
    if (!sound || covered > pixels || active != trailer.pixels)
        throw std::runtime_error(
            "a compositing message is damaged: do all ranks use the same image size and format?");
    return part;
}

} // namespace uzushio::compositing
