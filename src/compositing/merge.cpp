#include "compositing/merge.hpp"

#include <cassert>

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

} // namespace uzushio::compositing
