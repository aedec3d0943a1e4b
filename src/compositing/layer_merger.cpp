#include "compositing/layer_merger.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>

namespace uzushio::compositing {

void LayerCursor::enter_fragment() {
    run_ = 0;
    packed_ = 0;
    if (fragment_->storage == Fragment::Storage::dense) {
        run_begin_ = fragment_->interval.begin;
        run_end_ = fragment_->interval.end;
    } else {
        run_begin_ = fragment_->interval.begin;
        run_end_ = fragment_->interval.begin;
        if (!fragment_->runs.empty()) {
            run_begin_ += static_cast<int>(fragment_->runs[0].skip);
            run_end_ = run_begin_ + static_cast<int>(fragment_->runs[0].count);
        }
    }
}

LayerCursor::LayerSpan LayerCursor::at(int position) {
    while (fragment_ == nullptr || position >= fragment_->interval.end) {
        assert(next_fragment_ < fragments_.size());
        fragment_ = &fragments_[next_fragment_++];
        if (position < fragment_->interval.end)
            enter_fragment();
    }
    assert(position >= fragment_->interval.begin);
    while (position >= run_end_ && run_ + 1 < fragment_->runs.size()) {
        packed_ += static_cast<int>(fragment_->runs[run_].count);
        ++run_;
        run_begin_ = run_end_ + static_cast<int>(fragment_->runs[run_].skip);
        run_end_ = run_begin_ + static_cast<int>(fragment_->runs[run_].count);
    }
    if (position >= run_end_)
        return {false, fragment_->interval.end, {}};
    if (position < run_begin_)
        return {false, run_begin_, {}};

    int until = run_end_;
    int index = 0;
    switch (fragment_->storage) {
    case Fragment::Storage::dense:
        index = position - fragment_->interval.begin;
        break;
    case Fragment::Storage::packed:
        index = packed_ + position - run_begin_;
        break;
    case Fragment::Storage::in_place:
        index = shape_->interlacing.index(position);
        until = std::min(until, shape_->interlacing.contiguous_until(position));
        break;
    }
    const std::byte* const pixels =
        fragment_->pixels + static_cast<std::size_t>(index) * shape_->bytes(fragment_->width);
    return {true, until, {pixels, fragment_->width}};
}

void LayerMerger::run(const ImageShape& shape, std::span<LayerCursor> layers, Range interval,
                      PixelSink& sink, ChannelWidth to) {
    const auto& kernel = blend_kernels(shape.format);
    for (int position = interval.begin; position < interval.end;) {
        int until = std::min(interval.end, sink.contiguous_until(position));
        active_layers_.clear();
        for (auto& layer : layers) {
            const auto span = layer.at(position);
            until = std::min(until, span.until);
            if (span.active)
                active_layers_.push_back(span.pixels);
        }
        const int count = until - position;
        if (layers.size() > 1 && !active_layers_.empty() && until < interval.end &&
            count < static_cast<int>(BlendBlock::pixels)) {
            position = merge_block(shape, layers, {position, interval.end}, sink, to);
            continue;
        }
        if (active_layers_.empty()) {
            sink.skip(position, count);
        } else {
            kernel.blend(active_layers_, static_cast<std::size_t>(count),
                         sink.append(position, count), to, shape.far);
        }
        position = until;
    }
}

/// Merge a block of the interval in which runs of layers begin or end; return its end. Each layer
/// adds its runs to the accumulators of the block. Cutting the block at the ends of all runs would
/// make as many pieces as there are runs, and each piece would read all layers.
int LayerMerger::merge_block(const ImageShape& shape, std::span<LayerCursor> layers, Range interval,
                             PixelSink& sink, ChannelWidth to) {
    const auto& kernel = blend_kernels(shape.format);
    constexpr int group = static_cast<int>(group_pixels);
    const int first = interval.begin;
    const int count = std::min(interval.size(), static_cast<int>(BlendBlock::pixels));
    kernel.begin(block_, static_cast<std::size_t>(count), shape.far);
    std::uint64_t active = 0; // a bit for each group of pixels
    static_assert(BlendBlock::pixels / group_pixels == 64);
    for (auto& layer : layers)
        for (int at = 0; at < count;) {
            const auto span = layer.at(first + at);
            const int until = std::min(span.until - first, count);
            if (span.active) {
                const auto pixels = static_cast<std::size_t>(until - at);
                kernel.add(block_, static_cast<std::size_t>(at), span.pixels, pixels);
                const int groups = (until - 1) / group - at / group + 1;
                active |= ~std::uint64_t{0} >> (64 - groups) << at / group;
            }
            at = until;
        }
    for (int at = 0; at < count;) {
        const bool is_active = (active >> at / group & 1) != 0;
        const std::uint64_t rest = (is_active ? ~active : active) >> at / group;
        const int same = rest == 0 ? count : at - at % group + group * std::countr_zero(rest);
        const int until = std::min({same, count, sink.contiguous_until(first + at) - first});
        if (is_active)
            kernel.end(block_, static_cast<std::size_t>(at), static_cast<std::size_t>(until - at),
                       sink.append(first + at, until - at), to);
        else
            sink.skip(first + at, until - at);
        at = until;
    }
    return first + count;
}

} // namespace uzushio::compositing
