#include "compositing/frame.hpp"

#include <cassert>
#include <cstring>

namespace uzushio::compositing {

namespace {

constexpr std::size_t line = 64;

std::size_t padded(std::size_t bytes) { return (bytes + line - 1) / line * line; }

} // namespace

void Frame::prepare(const Schedule& schedule) {
    const Shape& shape = shop_.shape;
    schedule_ = &schedule;
    const auto& stages = schedule.stages;
    work_.clear();
    work_.resize(stages.size());
    stage_ = stages.size();

    std::size_t result = 0;
    bool whole = false;
    if (schedule.result) {
        result = static_cast<std::size_t>(region().size()) * shape.bytes();
        whole = region() == Range{0, shape.pixels()};
        if (result_.size() < result)
            result_ = parallel::AlignedArray<std::byte>(result);
    }

    // Offsets first, pointers when the memory is there.
    std::size_t used = 0, spare = 0;
    const auto take = [&](int pixels, Width width) {
        auto* const offset = reinterpret_cast<std::byte*>(used);
        used += padded(static_cast<std::size_t>(pixels) * shape.bytes(width));
        return offset;
    };
    std::size_t most_layers = 1, messages = 0;
    for (std::size_t s = 0; s < stages.size(); ++s) {
        const auto& stage = stages[s];
        auto& work = work_[s];
        most_layers = std::max(most_layers, stage.layers.size());
        messages += stage.pieces.size();
        // What is only put together, at its place in memory, is received there.
        const bool here = final(s) && stage.layers.size() == 1 && whole && shape.order.none();
        for (std::size_t l = 0; l < stage.layers.size(); ++l) {
            work.layers.emplace_back(stage.layers[l].size());
            for (std::size_t c = 0; c < stage.layers[l].size(); ++c) {
                const auto& from = stage.layers[l][c];
                if (from.rank < 0)
                    continue;
                ++messages;
                const bool in_place = here && shape.bytes(from.width) == shape.bytes();
                const auto bytes = static_cast<std::size_t>(from.region.size()) * shape.bytes();
                if (in_place)
                    spare = std::max(spare, bytes);
                work.messages.push_back(
                    {l, c,
                     in_place ? result_.data() +
                                    static_cast<std::size_t>(from.region.begin) * shape.bytes()
                              : take(from.region.size(), from.width),
                     in_place});
            }
        }
        for (const auto& piece : stage.pieces) {
            // An image stays where it is; what of it is sent may have to be packed.
            const bool image = stage.layers.empty();
            work.pieces.push_back(image && piece.rank < 0 ? nullptr
                                                          : take(piece.region.size(), stage.width));
            work.results.emplace_back();
            work.runs.emplace_back(image && piece.rank < 0 ? piece.region.size() : 0);
        }
    }
    const auto spare_at = used;
    used += padded(spare);
    if (memory_.size() < used)
        memory_ = parallel::AlignedArray<std::byte>(used);
    const auto settle = [&](std::byte*& place) {
        place = memory_.data() + reinterpret_cast<std::size_t>(place);
    };
    for (std::size_t s = 0; s < stages.size(); ++s) {
        for (auto& message : work_[s].messages)
            if (!message.in_place)
                settle(message.to);
        for (std::size_t p = 0; p < stages[s].pieces.size(); ++p)
            if (!stages[s].layers.empty() || stages[s].pieces[p].rank >= 0)
                settle(work_[s].pieces[p]);
    }
    spare_ = memory_.data() + spare_at;
    // Messages that have ended are forgotten a little later.
    shop_.requests.reserve(2 * static_cast<std::size_t>(shop_.frames) * messages);
    shop_.cursors.reserve(most_layers);
    shop_.merger.reserve(most_layers);
}

void Frame::post(int tag) {
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
            const auto most = static_cast<std::size_t>(from.region.size()) *
                              shop_.shape.bytes(message.in_place ? Width::narrow : from.width);
            shop_.requests.receive(message.to, most, from.rank, tag_, shop_.comm,
                                   {index_, static_cast<int>(s), static_cast<int>(m)});
        }
    }
}

void Frame::start(const Picture& picture) {
    picture_ = picture;
    started_ = true;
    advance();
}

void Frame::received(int stage, int message, std::size_t bytes) {
    auto& work = work_[static_cast<std::size_t>(stage)];
    const auto& came = work.messages[static_cast<std::size_t>(message)];
    const auto& from =
        schedule_->stages[static_cast<std::size_t>(stage)].layers[came.layer][came.contribution];
    auto& part = work.layers[came.layer][came.contribution];
    part = decode(shop_.shape, from.region, came.to, bytes);
    if (came.in_place && part.kind != Part::Kind::dense) {
        // Runs and pixels lie where the pixels shall be.
        std::memcpy(spare_, came.to, bytes);
        part = decode(shop_.shape, from.region, spare_, bytes);
        MemorySink sink(shop_.shape, result_.data());
        shop_.cursors.assign(1, Cursor(shop_.shape, {&part, 1}));
        shop_.merger.run(shop_.shape, shop_.cursors, from.region, sink, Width::narrow);
        part = {from.region, Part::Kind::dense, Width::narrow, came.to, {}};
    }
    --work.missing;
    advance();
}

void Frame::advance() {
    while (started_ && stage_ < work_.size() && work_[stage_].missing == 0) {
        const auto& stage = schedule_->stages[stage_];
        if (stage.layers.empty())
            run_image(stage, work_[stage_]);
        else
            run_merge(stage, work_[stage_], final(stage_));
        ++stage_;
    }
}

void Frame::run_image(const Stage& stage, Work& work) {
    const Shape& shape = shop_.shape;
    for (std::size_t p = 0; p < stage.pieces.size(); ++p) {
        const auto& piece = stage.pieces[p];
        auto& runs = piece.rank < 0 ? work.runs[p] : shop_.runs;
        scan(shape, picture_, piece.region, runs);
        const Part part{piece.region, Part::Kind::in_place, picture_.width, picture_.pixels,
                        runs.get()};
        if (piece.rank < 0) {
            work.results[p] = part;
            continue;
        }
        const auto size = static_cast<std::size_t>(piece.region.size());
        if (runs.full(piece.region.size()) &&
            (shape.order.none() ||
             shape.order.contiguous_until(piece.region.begin) >= piece.region.end)) {
            const auto first = static_cast<std::size_t>(shape.order.index(piece.region.begin));
            send(piece, picture_.pixels + first * shape.bytes(picture_.width),
                 size * shape.bytes(picture_.width));
            continue;
        }
        shop_.encoder.start(shape, piece.region.size(), picture_.width, work.pieces[p]);
        MessageSink sink(shop_.encoder);
        shop_.cursors.assign(1, Cursor(shape, {&part, 1}));
        shop_.merger.run(shape, shop_.cursors, piece.region, sink, picture_.width);
        send(piece, work.pieces[p], shop_.encoder.finish());
    }
}

void Frame::run_merge(const Stage& stage, Work& work, bool last) {
    const Shape& shape = shop_.shape;
    for (std::size_t l = 0; l < stage.layers.size(); ++l)
        for (std::size_t c = 0; c < stage.layers[l].size(); ++c) {
            const auto& from = stage.layers[l][c];
            if (from.rank >= 0)
                continue;
            work.layers[l][c] = work_[static_cast<std::size_t>(from.stage)]
                                    .results[static_cast<std::size_t>(from.piece)];
        }
    const auto rewind = [&] {
        shop_.cursors.clear();
        for (const auto& layer : work.layers)
            shop_.cursors.emplace_back(shape, layer);
    };
    if (last) {
        rewind();
        const bool whole = stage.region == Range{0, shape.pixels()};
        MemorySink sink(shape, result_.data(), Width::narrow, !whole, stage.region.begin);
        shop_.merger.run(shape, shop_.cursors, stage.region, sink, Width::narrow);
        return;
    }
    for (std::size_t p = 0; p < stage.pieces.size(); ++p) {
        const auto& piece = stage.pieces[p];
        rewind();
        shop_.encoder.start(shape, piece.region.size(), stage.width, work.pieces[p]);
        MessageSink sink(shop_.encoder);
        shop_.merger.run(shape, shop_.cursors, piece.region, sink, stage.width);
        const std::size_t bytes = shop_.encoder.finish();
        if (piece.rank < 0)
            work.results[p] = decode(shape, piece.region, work.pieces[p], bytes);
        else
            send(piece, work.pieces[p], bytes);
    }
}

void Frame::send(const Piece& piece, const std::byte* data, std::size_t bytes) {
    ++sending_;
    ++messages_;
    shop_.requests.send(data, bytes, piece.rank, tag_, shop_.comm, index_);
}

} // namespace uzushio::compositing
