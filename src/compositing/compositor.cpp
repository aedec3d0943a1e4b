#include "compositing/compositor.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace uzushio::compositing {

namespace {

void require(bool sound, const std::string& what) {
    if (!sound)
        throw std::invalid_argument("compositing: " + what);
}

Shape shape(const Options& options) {
    Shape result{options.width, options.height, options.format, options.far, {}};
    result.order = Interlace(result.pixels(), options.interlace);
    return result;
}

const Options& checked(const Options& options) {
    require(options.width > 0 && options.height > 0,
            "an image has at least one pixel in each direction, not " +
                std::to_string(options.width) + " x " + std::to_string(options.height));
    const long long bytes = 1LL * options.width * options.height *
                            static_cast<long long>(pixel_bytes(options.format, Width::wide));
    require(bytes <= std::numeric_limits<int>::max(),
            "an image of " + std::to_string(options.width) + " x " +
                std::to_string(options.height) +
                " pixels is more than one message can hold (2 GiB): composite it in parts");
    require(options.frames >= 1, "at least one frame is under way at a time");
    require(options.fan_in >= 2, "at least two messages are gathered at a time");
    require(options.interlace >= 0, "the block of an interlaced image has no negative size");
    return options;
}

} // namespace

Compositor::Compositor(MPI_Comm comm, const Options& options)
    : options_(checked(options)), comm_(parallel::Communicator::duplicate(comm)),
      shop_(shape(options), comm_.get()), method_(parse_method(options.algorithm)) {
    require(options.root >= 0 && options.root < comm_.size(),
            "the root " + std::to_string(options.root) + " is not one of the " +
                std::to_string(comm_.size()) + " ranks");
    std::vector<int> all(static_cast<std::size_t>(comm_.size()));
    std::iota(all.begin(), all.end(), 0);
    set_order(all);
    for (int i = 0; i < options.frames; ++i)
        slots_.push_back({std::make_unique<Frame>(shop_, i), nullptr});
    queue_.reserve(slots_.size());
}

Compositor::~Compositor() = default;

void Compositor::set_order(std::span<const int> front_to_back) {
    if (schedule_ && std::ranges::equal(front_to_back, order_))
        return;
    std::vector<char> seen(static_cast<std::size_t>(comm_.size()));
    for (const int rank : front_to_back) {
        require(rank >= 0 && rank < comm_.size(), "the visibility order names rank " +
                                                      std::to_string(rank) + " of " +
                                                      std::to_string(comm_.size()));
        require(std::exchange(seen[static_cast<std::size_t>(rank)], 1) == 0,
                "the visibility order names rank " + std::to_string(rank) + " twice");
    }
    order_.assign(front_to_back.begin(), front_to_back.end());
    schedule_ = plan(order_);
}

std::shared_ptr<const Schedule> Compositor::plan(std::span<const int> order) const {
    const Arrangement arrangement{shop_.shape.pixels(), options_.root, options_.gather,
                                  options_.fan_in, Width::narrow};
    return std::make_shared<Schedule>(schedule(arrange(method_, order, arrangement), comm_.rank()));
}

void Compositor::submit_bytes(std::span<const std::byte> image, std::optional<Rectangle> bounds) {
    if (queue_.size() == slots_.size())
        throw std::logic_error("compositing: " + std::to_string(slots_.size()) +
                               " pictures are under way already: finish one first");
    const Shape& all = shop_.shape;
    Rectangle part = bounds.value_or(all.whole());
    part = {overlap(part.x, {0, all.width}), overlap(part.y, {0, all.height})};
    const bool present = std::ranges::find(order_, comm_.rank()) != order_.end();
    if (!present)
        part = {};
    if (!part.empty() && image.size() != static_cast<std::size_t>(all.pixels()) * all.bytes())
        throw std::invalid_argument(
            "compositing: the image has " + std::to_string(image.size()) + " bytes, not the " +
            std::to_string(static_cast<std::size_t>(all.pixels()) * all.bytes()) +
            " of its width, height and format");
    const int index = number_ % static_cast<int>(slots_.size());
    auto& slot = slots_[static_cast<std::size_t>(index)];
    if (slot.schedule != schedule_) {
        slot.schedule = schedule_;
        slot.frame->prepare(*schedule_);
    }
    queue_.push_back(index);
    slot.frame->post(number_++);
    slot.frame->start({image.data(), Width::narrow, part});
    progress(false);
}

void Compositor::progress(bool wait) {
    shop_.requests.progress(wait, [&](const Requests::Purpose& purpose, std::size_t bytes) {
        auto& frame = *slots_[static_cast<std::size_t>(purpose.frame)].frame;
        if (purpose.stage < 0)
            frame.sent();
        else
            frame.received(purpose.stage, purpose.message, bytes);
    });
}

void Compositor::progress() { progress(false); }

Result Compositor::finish() {
    if (queue_.empty())
        throw std::logic_error("compositing: no picture is under way");
    const auto& frame = *slots_[static_cast<std::size_t>(queue_.front())].frame;
    while (!frame.done())
        progress(true);
    queue_.erase(queue_.begin());
    messages_ = frame.messages();
    if (!frame.has_result())
        return {};
    return {frame.region(), frame.result()};
}

std::size_t Compositor::bytes() const {
    std::size_t bytes = 0;
    for (const auto& slot : slots_)
        bytes += slot.frame->bytes();
    return bytes;
}

} // namespace uzushio::compositing
