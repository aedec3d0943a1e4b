#include "compositing/compositor.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
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

void check(const Options& options, int ranks) {
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
    require(options.limit >= 0, "the time that a call may wait is not negative");
    require(options.root >= 0 && options.root < ranks, "the root " + std::to_string(options.root) +
                                                           " is not one of the " +
                                                           std::to_string(ranks) + " ranks");
    (void)parse_method(options.algorithm);
}

void require_going(bool gave_up) {
    if (gave_up)
        throw std::logic_error("compositing: this compositor has given up a picture before, for "
                               "which other ranks were missing");
}

/// The options, if all ranks have the same and they make sense.
const Options& agreed(MPI_Comm comm, const Options& options) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    std::string problem;
    try {
        check(options, ranks);
    } catch (const std::invalid_argument& error) {
        problem = error.what();
    }
    agree(comm, options, problem);
    return options;
}

} // namespace

Compositor::Compositor(MPI_Comm comm, const Options& options)
    : options_(agreed(comm, options)),
      comm_(std::make_unique<parallel::Communicator>(parallel::Communicator::duplicate(comm))),
      shop_(shape(options), comm_->get(), options.frames),
      method_(parse_method(options.algorithm)) {
    if (method_.name == "hybrid" || method_.name == "auto")
        node_ = std::make_unique<NodeStage>(comm_->get(), shop_.shape, options.frames,
                                            options.ranks_per_node, options.limit);
    planner_ = std::make_unique<Planner>(shop_.shape, comm_->rank(), options.root, options.gather,
                                         options.fan_in, node_.get());
    std::vector<int> all(static_cast<std::size_t>(comm_->size()));
    std::iota(all.begin(), all.end(), 0);
    set_order(all);
    for (int i = 0; i < options.frames; ++i)
        slots_.push_back({std::make_unique<Frame>(shop_, i), nullptr, {}, false, false});
    queue_.reserve(slots_.size());
}

Compositor::~Compositor() {
    if (!gave_up_)
        return;
    // Messages may still come, and be read.
    abandon();
    for (auto& slot : slots_) {
        (void)slot.frame.release();
        (void)new parallel::AlignedArray<std::byte>(std::move(slot.canvas));
    }
}

void Compositor::abandon() {
    if (node_)
        node_->abandon();
    (void)comm_.release();
}

void Compositor::set_order(std::span<const int> front_to_back) {
    if (plan_ && std::ranges::equal(front_to_back, order_))
        return;
    std::vector<char> seen(static_cast<std::size_t>(comm_->size()));
    for (const int rank : front_to_back) {
        require(rank >= 0 && rank < comm_->size(), "the visibility order names rank " +
                                                       std::to_string(rank) + " of " +
                                                       std::to_string(comm_->size()));
        require(std::exchange(seen[static_cast<std::size_t>(rank)], 1) == 0,
                "the visibility order names rank " + std::to_string(rank) + " twice");
    }
    order_.assign(front_to_back.begin(), front_to_back.end());
    chosen_ = method_.name == "auto" ? planner_->choose(order_, machine()) : method_;
    plan_ = std::make_shared<Plan>(planner_->plan(chosen_, order_));
}

const Machine& Compositor::machine() {
    if (!machine_)
        machine_ = measure(comm_->get(), shop_.shape);
    return *machine_;
}

double Compositor::predict(const Method& method) {
    return planner_->predict(method, order_, machine());
}

int Compositor::next_slot() const {
    require_going(gave_up_);
    if (queue_.size() == slots_.size())
        throw std::logic_error("compositing: " + std::to_string(slots_.size()) +
                               " pictures are under way already: finish one first");
    return number_ % static_cast<int>(slots_.size());
}

std::span<std::byte> Compositor::canvas() {
    const int index = next_slot();
    if (node_) {
        try {
            return node_->canvas(index);
        } catch (const std::runtime_error&) {
            gave_up_ = true;
            throw;
        }
    }
    auto& canvas = slots_[static_cast<std::size_t>(index)].canvas;
    if (canvas.size() == 0)
        canvas = parallel::AlignedArray<std::byte>(static_cast<std::size_t>(shop_.shape.pixels()) *
                                                   shop_.shape.bytes());
    return canvas;
}

void Compositor::submit_canvas(std::optional<Rectangle> bounds) { submit_bytes(canvas(), bounds); }

void Compositor::submit_bytes(std::span<const std::byte> image, std::optional<Rectangle> bounds) {
    const int index = next_slot();
    if (node_)
        (void)canvas();
    const Shape& all = shop_.shape;
    Rectangle part = bounds.value_or(all.whole());
    part = {overlap(part.x, {0, all.width}), overlap(part.y, {0, all.height})};
    if (std::ranges::find(order_, comm_->rank()) == order_.end())
        part = {};
    const auto bytes = static_cast<std::size_t>(all.pixels()) * all.bytes();
    if (!part.empty() && image.size() != bytes)
        throw std::invalid_argument("compositing: the image has " + std::to_string(image.size()) +
                                    " bytes, not the " + std::to_string(bytes) +
                                    " of its width, height and format");
    auto& slot = slots_[static_cast<std::size_t>(index)];
    if (slot.plan != plan_) {
        slot.plan = plan_;
        slot.frame->prepare(plan_->schedule);
    }
    queue_.push_back(index);
    slot.frame->post(number_++);
    slot.here = false;
    slot.on_node = plan_->segment != nullptr;
    const Picture picture{image.data(), Width::narrow, part};
    if (slot.on_node)
        node_->submit(index, static_cast<std::uint32_t>(number_), plan_->segment, picture,
                      plan_->width);
    else
        slot.frame->start(picture);
    progress();
}

bool Compositor::done(const Slot& slot) const { return !slot.on_node && slot.frame->done(); }

bool Compositor::move_messages(bool wait) {
    return shop_.requests.progress(wait, [&](const Requests::Purpose& purpose, std::size_t bytes) {
        auto& frame = *slots_[static_cast<std::size_t>(purpose.frame)].frame;
        if (purpose.stage < 0)
            frame.sent();
        else
            frame.received(purpose.stage, purpose.message, bytes);
    });
}

void Compositor::move_nodes() {
    for (const int index : queue_) {
        auto& slot = slots_[static_cast<std::size_t>(index)];
        if (!slot.on_node || !node_->progress(index))
            continue;
        slot.on_node = false;
        slot.here = slot.plan->all_here;
        if (slot.plan->leads && !slot.here)
            slot.frame->start({node_->result(index).data(), slot.plan->width, shop_.shape.whole()});
    }
}

void Compositor::progress() {
    move_messages(false);
    move_nodes();
}

void Compositor::wait_for(int index) {
    if (!slots_[static_cast<std::size_t>(index)].on_node) {
        (void)move_messages(options_.limit == 0);
        return;
    }
    // Messages of other pictures must not wait for this node.
    const bool alone = shop_.requests.empty();
    node_->wait(index, std::chrono::microseconds(alone ? 100000 : 100));
    progress();
}

Result Compositor::finish() {
    require_going(gave_up_);
    if (queue_.empty())
        throw std::logic_error("compositing: no picture is under way");
    const int index = queue_.front();
    const auto& slot = slots_[static_cast<std::size_t>(index)];
    progress();
    const double start = MPI_Wtime();
    while (!done(slot)) {
        if (options_.limit > 0 && MPI_Wtime() - start > options_.limit)
            give_up(index);
        wait_for(index);
    }
    queue_.erase(queue_.begin());
    messages_ = slot.frame->messages();
    if (slot.here)
        return {{0, shop_.shape.pixels()}, node_->result(index)};
    if (!slot.frame->has_result())
        return {};
    return {slot.frame->region(), slot.frame->result()};
}

void Compositor::give_up(int index) {
    gave_up_ = true;
    const auto& slot = slots_[static_cast<std::size_t>(index)];
    std::set<int> ranks;
    shop_.requests.each_open([&](const Requests::Purpose& purpose) {
        if (purpose.frame == index)
            ranks.insert(purpose.stage < 0 ? purpose.message
                                           : slot.frame->sender(purpose.stage, purpose.message));
    });
    std::string names;
    for (const int rank : ranks)
        names += (names.empty() ? " " : ", ") + std::to_string(rank);
    const std::string whom = slot.on_node    ? "other ranks of this node"
                             : ranks.empty() ? "other ranks"
                                             : "rank" + names;
    throw std::runtime_error("compositing: a picture waited longer than the " +
                             std::to_string(options_.limit) + " s allowed for " + whom +
                             ": did they fail, or leave out a call or a rank of the order?");
}

std::size_t Compositor::bytes() const {
    std::size_t bytes = 0;
    for (const auto& slot : slots_)
        bytes += slot.frame->bytes() + slot.canvas.bytes();
    return bytes;
}

} // namespace uzushio::compositing
