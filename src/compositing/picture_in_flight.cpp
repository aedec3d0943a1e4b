#include "compositing/picture_in_flight.hpp"

#include <cassert>
#include <cstring>

namespace uzushio::compositing {

/// Offsets in a block of memory that is not allocated yet, as pointers, until `resolve` adds its
/// address.
class PictureInFlight::Offsets {
  public:
    explicit Offsets(const ImageShape& shape) : shape_(shape) {}

    std::byte* take(int pixels, ChannelWidth width) {
        return take(static_cast<std::size_t>(pixels) * shape_.bytes(width));
    }
    std::byte* take(std::size_t bytes) {
        constexpr std::size_t cache_line = 64;
        auto* const offset = reinterpret_cast<std::byte*>(used_);
        used_ += (bytes + cache_line - 1) / cache_line * cache_line;
        return offset;
    }
    [[nodiscard]] std::size_t used() const { return used_; }

    static void resolve(std::byte*& place, std::byte* address) {
        place = address + reinterpret_cast<std::size_t>(place);
    }

  private:
    const ImageShape& shape_;
    std::size_t used_ = 0;
};

void PictureInFlight::prepare(const CompositingSchedule& schedule) {
    const ImageShape& shape = context_.shape;
    schedule_ = &schedule;
    const auto& stages = schedule.stages;
    work_.clear();
    work_.resize(stages.size());
    stage_ = stages.size();
    if (schedule.result) {
        const auto bytes = static_cast<std::size_t>(region().size()) * shape.bytes();
        if (result_.size() < bytes)
            result_ = parallel::AlignedArray<std::byte>(bytes);
    }

    Offsets offsets(shape);
    std::size_t spare = 0, max_layers = 1, messages = 0;
    for (std::size_t s = 0; s < stages.size(); ++s) {
        prepare_messages(s, offsets, spare);
        prepare_outputs(s, offsets);
        max_layers = std::max(max_layers, stages[s].layers.size());
        messages += work_[s].messages.size() + stages[s].outputs.size();
    }
    spare_ = offsets.take(spare);
    if (memory_.size() < offsets.used())
        memory_ = parallel::AlignedArray<std::byte>(offsets.used());
    for (std::size_t s = 0; s < stages.size(); ++s) {
        for (auto& message : work_[s].messages)
            if (!message.in_place)
                Offsets::resolve(message.to, memory_.data());
        for (std::size_t p = 0; p < stages[s].outputs.size(); ++p)
            if (!stages[s].layers.empty() || stages[s].outputs[p].rank >= 0)
                Offsets::resolve(work_[s].outputs[p], memory_.data());
    }
    Offsets::resolve(spare_, memory_.data());
    // Completed messages are removed a call later, hence the factor of 2.
    context_.messages.reserve(2 * static_cast<std::size_t>(context_.frames) * messages);
    context_.cursors.reserve(max_layers);
    context_.merger.reserve(max_layers);
}

/// List the messages of a stage and where each is received; `spare` is the maximum size of a
/// message that is received into the result.
void PictureInFlight::prepare_messages(std::size_t s, Offsets& offsets, std::size_t& spare) {
    const ImageShape& shape = context_.shape;
    const auto& stage = schedule_->stages[s];
    auto& work = work_[s];
    // A last stage of one layer is received directly into the result.
    const bool assembles = final(s) && stage.layers.size() == 1 &&
                           region() == Range{0, shape.pixels()} && shape.interlacing.none();
    for (std::size_t l = 0; l < stage.layers.size(); ++l) {
        work.layers.emplace_back(stage.layers[l].size());
        for (std::size_t c = 0; c < stage.layers[l].size(); ++c) {
            const auto& from = stage.layers[l][c];
            if (from.rank < 0)
                continue;
            const bool in_place = assembles && shape.bytes(from.width) == shape.bytes();
            if (in_place)
                spare =
                    std::max(spare, static_cast<std::size_t>(from.region.size()) * shape.bytes());
            work.messages.push_back(
                {l, c,
                 in_place
                     ? result_.data() + static_cast<std::size_t>(from.region.begin) * shape.bytes()
                     : offsets.take(from.region.size(), from.width),
                 in_place});
        }
    }
}

void PictureInFlight::prepare_outputs(std::size_t s, Offsets& offsets) {
    const auto& stage = schedule_->stages[s];
    auto& work = work_[s];
    for (const auto& output : stage.outputs) {
        // This rank's image is not copied; outputs to other ranks may be packed.
        const bool stays = stage.layers.empty() && output.rank < 0;
        work.outputs.push_back(stays ? nullptr : offsets.take(output.region.size(), stage.width));
        work.results.emplace_back();
        work.runs.emplace_back(stays ? output.region.size() : 0);
    }
}

void PictureInFlight::post(int tag) {
    assert(done());
    tag_ = tag;
    stage_ = 0;
    started_ = false;
    messages_ = 0;
    for (std::size_t s = 0; s < work_.size(); ++s) {
        auto& work = work_[s];
        work.missing = static_cast<int>(work.messages.size());
        for (std::size_t m = 0; m < work.messages.size(); ++m) {
            const auto& message = work.messages[m];
            const auto& from = schedule_->stages[s].layers[message.layer][message.contribution];
            const auto max_bytes =
                static_cast<std::size_t>(from.region.size()) *
                context_.shape.bytes(message.in_place ? ChannelWidth::narrow : from.width);
            context_.messages.receive(message.to, max_bytes, from.rank, tag_, context_.comm,
                                      {index_, static_cast<int>(s), static_cast<int>(m)});
        }
    }
}

void PictureInFlight::start(const ImageView& image) {
    image_ = image;
    started_ = true;
    advance();
}

void PictureInFlight::received(int stage, int message, std::size_t bytes) {
    auto& work = work_[static_cast<std::size_t>(stage)];
    const auto& arrived = work.messages[static_cast<std::size_t>(message)];
    const auto& from = schedule_->stages[static_cast<std::size_t>(stage)]
                           .layers[arrived.layer][arrived.contribution];
    auto& fragment = work.layers[arrived.layer][arrived.contribution];
    fragment = decode_fragment(context_.shape, from.region, arrived.to, bytes);
    if (arrived.in_place && fragment.storage != Fragment::Storage::dense) {
        // Unpack a packed message that was received into the result.
        std::memcpy(spare_, arrived.to, bytes);
        fragment = decode_fragment(context_.shape, from.region, spare_, bytes);
        MemorySink sink(context_.shape, result_.data());
        context_.cursors.assign(1, LayerCursor(context_.shape, {&fragment, 1}));
        context_.merger.run(context_.shape, context_.cursors, from.region, sink,
                            ChannelWidth::narrow);
        fragment = {from.region, Fragment::Storage::dense, ChannelWidth::narrow, arrived.to, {}};
    }
    --work.missing;
    advance();
}

void PictureInFlight::advance() {
    while (started_ && stage_ < work_.size() && work_[stage_].missing == 0) {
        const auto& stage = schedule_->stages[stage_];
        if (stage.layers.empty())
            process_image(stage, work_[stage_]);
        else
            process_merge(stage, work_[stage_], final(stage_));
        ++stage_;
    }
}

void PictureInFlight::process_image(const CompositingStage& stage, StageBuffers& work) {
    const ImageShape& shape = context_.shape;
    for (std::size_t p = 0; p < stage.outputs.size(); ++p) {
        const auto& output = stage.outputs[p];
        auto& runs = output.rank < 0 ? work.runs[p] : context_.runs;
        find_active_runs(shape, image_, output.region, runs);
        const Fragment fragment{output.region, Fragment::Storage::in_place, image_.width,
                                image_.pixels, runs.get()};
        if (output.rank < 0) {
            work.results[p] = fragment;
            continue;
        }
        const auto size = static_cast<std::size_t>(output.region.size());
        if (runs.full(output.region.size()) &&
            (shape.interlacing.none() ||
             shape.interlacing.contiguous_until(output.region.begin) >= output.region.end)) {
            const auto first =
                static_cast<std::size_t>(shape.interlacing.index(output.region.begin));
            send(output, image_.pixels + first * shape.bytes(image_.width),
                 size * shape.bytes(image_.width));
            continue;
        }
        context_.encoder.start(shape, output.region.size(), image_.width, work.outputs[p]);
        MessageSink sink(context_.encoder);
        context_.cursors.assign(1, LayerCursor(shape, {&fragment, 1}));
        context_.merger.run(shape, context_.cursors, output.region, sink, image_.width);
        send(output, work.outputs[p], context_.encoder.finish());
    }
}

void PictureInFlight::process_merge(const CompositingStage& stage, StageBuffers& work, bool last) {
    const ImageShape& shape = context_.shape;
    for (std::size_t l = 0; l < stage.layers.size(); ++l)
        for (std::size_t c = 0; c < stage.layers[l].size(); ++c) {
            const auto& from = stage.layers[l][c];
            if (from.rank >= 0)
                continue;
            work.layers[l][c] = work_[static_cast<std::size_t>(from.stage)]
                                    .results[static_cast<std::size_t>(from.output)];
        }
    const auto rewind = [&] {
        context_.cursors.clear();
        for (const auto& layer : work.layers)
            context_.cursors.emplace_back(shape, layer);
    };
    if (last) {
        rewind();
        const bool whole = stage.region == Range{0, shape.pixels()};
        MemorySink sink(shape, result_.data(), ChannelWidth::narrow, !whole, stage.region.begin);
        context_.merger.run(shape, context_.cursors, stage.region, sink, ChannelWidth::narrow);
        return;
    }
    for (std::size_t p = 0; p < stage.outputs.size(); ++p) {
        const auto& output = stage.outputs[p];
        rewind();
        context_.encoder.start(shape, output.region.size(), stage.width, work.outputs[p]);
        MessageSink sink(context_.encoder);
        context_.merger.run(shape, context_.cursors, output.region, sink, stage.width);
        const std::size_t bytes = context_.encoder.finish();
        if (output.rank < 0)
            work.results[p] = decode_fragment(shape, output.region, work.outputs[p], bytes);
        else
            send(output, work.outputs[p], bytes);
    }
}

void PictureInFlight::send(const StageOutput& output, const std::byte* data, std::size_t bytes) {
    ++sending_;
    ++messages_;
    context_.messages.send(data, bytes, output.rank, tag_, context_.comm, index_);
}

} // namespace uzushio::compositing
