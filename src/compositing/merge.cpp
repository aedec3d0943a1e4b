#include "compositing/merge.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>

namespace uzushio::compositing {

void Cursor::enter() {
    run_ = 0;
    packed_ = 0;
    if (part_->kind == Part::Kind::dense) {
        run_begin_ = part_->interval.begin;
        run_end_ = part_->interval.end;
    } else {
        run_begin_ = part_->interval.begin;
        run_end_ = part_->interval.begin;
        if (!part_->runs.empty()) {
            run_begin_ += static_cast<int>(part_->runs[0].skip);
            run_end_ = run_begin_ + static_cast<int>(part_->runs[0].count);
        }
    }
}

Cursor::Here Cursor::at(int position) {
    while (part_ == nullptr || position >= part_->interval.end) {
        assert(next_part_ < parts_.size());
        part_ = &parts_[next_part_++];
        if (position < part_->interval.end)
            enter();
    }
    assert(position >= part_->interval.begin);
    while (position >= run_end_ && run_ + 1 < part_->runs.size()) {
        packed_ += static_cast<int>(part_->runs[run_].count);
        ++run_;
        run_begin_ = run_end_ + static_cast<int>(part_->runs[run_].skip);
        run_end_ = run_begin_ + static_cast<int>(part_->runs[run_].count);
    }
    if (position >= run_end_)
        return {false, part_->interval.end, {}};
    if (position < run_begin_)
        return {false, run_begin_, {}};

    int until = run_end_;
    int index = 0;
    switch (part_->kind) {
    case Part::Kind::dense:
        index = position - part_->interval.begin;
        break;
    case Part::Kind::packed:
        index = packed_ + position - run_begin_;
        break;
    case Part::Kind::in_place:
        index = shape_->order.index(position);
        until = std::min(until, shape_->order.contiguous_until(position));
        break;
    }
    const std::byte* const pixels =
        part_->pixels + static_cast<std::size_t>(index) * shape_->bytes(part_->width);
    return {true, until, {pixels, part_->width}};
}

std::size_t Merger::run(const Shape& shape, std::span<Cursor> layers, Range interval, Sink& sink,
                        Width to) {
    const auto& kernel = kernels(shape.format);
    std::size_t read = 0;
    for (int position = interval.begin; position < interval.end;) {
        int until = std::min(interval.end, sink.contiguous_until(position));
        sources_.clear();
        for (auto& layer : layers) {
            const auto here = layer.at(position);
            until = std::min(until, here.until);
            if (here.active)
                sources_.push_back(here.source);
        }
        const int count = until - position;
        if (layers.size() > 1 && !sources_.empty() && until < interval.end &&
            count < static_cast<int>(Block::pixels)) {
            position = parts(shape, layers, {position, interval.end}, sink, to, read);
            continue;
        }
        if (sources_.empty()) {
            sink.skip(position, count);
        } else {
            kernel.blend(sources_, static_cast<std::size_t>(count), sink.append(position, count),
                         to, shape.far);
            read += sources_.size() * static_cast<std::size_t>(count);
        }
        position = until;
    }
    return read;
}

/// A block of the interval in which layers begin and end: each adds what it has. Cutting the block
/// where any of them does would make as many pieces as there are runs, of all layers each.
int Merger::parts(const Shape& shape, std::span<Cursor> layers, Range interval, Sink& sink,
                  Width to, std::size_t& read) {
    const auto& kernel = kernels(shape.format);
    constexpr int group = static_cast<int>(group_pixels);
    const int first = interval.begin;
    const int count = std::min(interval.size(), static_cast<int>(Block::pixels));
    kernel.begin(block_, static_cast<std::size_t>(count), shape.far);
    std::uint64_t active = 0; // a bit for each group of pixels
    static_assert(Block::pixels / group_pixels == 64);
    for (auto& layer : layers)
        for (int at = 0; at < count;) {
            const auto here = layer.at(first + at);
            const int until = std::min(here.until - first, count);
            if (here.active) {
                const auto pixels = static_cast<std::size_t>(until - at);
                kernel.add(block_, static_cast<std::size_t>(at), here.source, pixels);
                const int groups = (until - 1) / group - at / group + 1;
                active |= ~std::uint64_t{0} >> (64 - groups) << at / group;
                read += pixels;
            }
            at = until;
        }
    for (int at = 0; at < count;) {
        const bool here = (active >> at / group & 1) != 0;
        const std::uint64_t rest = (here ? ~active : active) >> at / group;
        const int same = rest == 0 ? count : at - at % group + group * std::countr_zero(rest);
        const int until = std::min({same, count, sink.contiguous_until(first + at) - first});
        if (here)
            kernel.end(block_, static_cast<std::size_t>(at), static_cast<std::size_t>(until - at),
                       sink.append(first + at, until - at), to);
        else
            sink.skip(first + at, until - at);
        at = until;
    }
    return first + count;
}

} // namespace uzushio::compositing
