#include "compositing/fragment.hpp"

#include <cassert>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "compositing/blend_kernels.hpp"

namespace uzushio::compositing {

namespace {

/// End of a message with runs: 9 bytes, so that the size of the message is no multiple of 4, unlike
/// that of a message of whole pixels.
struct RunListFooter {
    std::uint32_t runs = 0;
    std::uint32_t pixels = 0;
    std::uint8_t width = 0;
};
constexpr std::size_t footer_bytes = 9;

} // namespace

void FragmentEncoder::start(const ImageShape& shape, int pixels, ChannelWidth width,
                            std::byte* to) {
    shape_ = &shape;
    width_ = width;
    begin_ = end_ = to;
    pixels_ = pixels;
    skipped_ = 0;
    runs_.clear();
}

void FragmentEncoder::flush() {
    if (skipped_ == 0 && !runs_.empty())
        return;
    if ((skipped_ >= min_gap || runs_.empty()) && runs_.size() < max_runs_) {
        const bool fill = skipped_ < min_gap;
        runs_.push_back({fill ? 0 : static_cast<std::uint32_t>(skipped_), 0});
        if (!fill)
            skipped_ = 0;
    }
    if (skipped_ > 0) {
        const auto count = static_cast<std::size_t>(std::exchange(skipped_, 0));
        blend_kernels(shape_->format).clear(end_, count, width_, shape_->far);
        end_ += count * shape_->bytes(width_);
        runs_.back().count += static_cast<std::uint32_t>(count);
    }
}

std::byte* FragmentEncoder::append(int pixels) {
    flush();
    runs_.back().count += static_cast<std::uint32_t>(pixels);
    return std::exchange(end_, end_ + static_cast<std::size_t>(pixels) * shape_->bytes(width_));
}

std::size_t FragmentEncoder::finish() {
    if (skipped_ > 0 && skipped_ < min_gap)
        flush();
    const auto whole = static_cast<std::size_t>(pixels_) * shape_->bytes(width_);
    const auto packed = static_cast<std::size_t>(end_ - begin_);
    if (packed == whole)
        return whole;
    const std::size_t bytes = runs_.size() * sizeof(PixelRun);
    assert(packed + bytes + footer_bytes < whole);
    if (bytes > 0)
        std::memcpy(end_, runs_.data(), bytes);
    const auto runs = static_cast<std::uint32_t>(runs_.size());
    const auto pixels = static_cast<std::uint32_t>(packed / shape_->bytes(width_));
    std::memcpy(end_ + bytes, &runs, 4);
    std::memcpy(end_ + bytes + 4, &pixels, 4);
    end_[bytes + 8] = static_cast<std::byte>(width_);
    return packed + bytes + footer_bytes;
}

Fragment decode_fragment(const ImageShape& shape, Range interval, const std::byte* message,
                         std::size_t bytes) {
    const auto pixels = static_cast<std::size_t>(interval.size());
    Fragment fragment{interval, Fragment::Storage::dense, ChannelWidth::narrow, message, {}};
    if (bytes == pixels * shape.bytes(ChannelWidth::narrow))
        return fragment;
    fragment.width = ChannelWidth::wide;
    if (bytes == pixels * shape.bytes(ChannelWidth::wide))
        return fragment;

    fragment.storage = Fragment::Storage::packed;
    RunListFooter footer;
    std::uint64_t covered = 0, active = 0;
    bool sound = bytes >= footer_bytes;
    if (sound) {
        const std::byte* const end = message + bytes - footer_bytes;
        std::memcpy(&footer.runs, end, 4);
        std::memcpy(&footer.pixels, end + 4, 4);
        footer.width = static_cast<std::uint8_t>(end[8]);
        sound = footer.width <= 1;
        fragment.width = static_cast<ChannelWidth>(footer.width & 1U);
        const std::uint64_t packed = footer.pixels * std::uint64_t{shape.bytes(fragment.width)};
        sound = sound && packed + footer.runs * sizeof(PixelRun) + footer_bytes == bytes;
        if (sound)
            fragment.runs = {reinterpret_cast<const PixelRun*>(message + packed), footer.runs};
        for (const auto& run : fragment.runs) {
            covered += std::uint64_t{run.skip} + run.count;
            active += run.count;
        }
    }
    if (!sound || covered > pixels || active != footer.pixels)
        throw std::runtime_error("compositing: a message is damaged; check that all ranks use the "
                                 "same image size and format");
    return fragment;
}

} // namespace uzushio::compositing
