#include "compositing/compositor.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace uzushio::compositing {

namespace {

#if defined(SMPI_H) || defined(MPI_SMPI)
constexpr bool simulated = true; // each look is an event of its own: waits are left to MPI
#else
constexpr bool simulated = false;
#endif

constexpr auto long_wait = std::chrono::milliseconds(20);
constexpr auto short_wait = std::chrono::microseconds(100);
// Seconds after which a waiting rank asks whether the others were given the same orders.
constexpr double max_silence = 0.02;

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
        throw std::logic_error(
            "compositing: this compositor has failed before, and is of no more use");
}

std::runtime_error late(double limit, std::span<const int> ranks) {
    std::string names;
    for (const int rank : ranks)
        names += (names.empty() ? " " : ", ") + std::to_string(rank);
    const std::string whom = ranks.empty() ? "other ranks" : "rank" + names;
    return std::runtime_error("compositing: a picture waited longer than the " +
                              std::to_string(limit) + " s allowed for " + whom +
                              ": did they fail, or leave out a call?");
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
      shop_(shape(options), comm_->get(), options.frames), method_(parse_method(options.algorithm)),
      check_(comm_->get()) {
    if (method_.name == "hybrid" || method_.name == "auto")
        node_ = std::make_unique<NodeStage>(comm_->get(), shop_.shape, options.frames,
                                            options.ranks_per_node);
    planner_ = std::make_unique<Planner>(shop_.shape, comm_->rank(), options.root, options.gather,
                                         options.fan_in, node_.get());
    std::vector<int> all(static_cast<std::size_t>(comm_->size()));
    std::iota(all.begin(), all.end(), 0);
    set_order(all);
    for (int i = 0; i < options.frames; ++i)
        slots_.push_back({std::make_unique<Frame>(shop_, i), nullptr, {}, 0, false, false});
    queue_.reserve(slots_.size());
    waiting_.reserve(4 * all.size());
}

Compositor::~Compositor() {
    try {
        if (!abandoned_ && !gave_up_ && !met_) {
            gave_up_ = std::uncaught_exceptions() > exceptions_;
            if (!gave_up_)
                (void)meet();
        }
    } catch (const std::exception&) {
        gave_up_ = true;
    }
    if (gave_up_)
        abandon();
    if (shop_.requests.empty())
        return;
    // Messages may still come, and be read.
    for (auto& slot : slots_) {
        (void)slot.frame.release();
        (void)new parallel::AlignedArray<std::byte>(std::move(slot.canvas));
    }
}

void Compositor::abandon() {
    abandoned_ = true;
    if (node_)
        node_->abandon();
    (void)comm_.release();
}

bool Compositor::meet(bool keep) {
    require_going(gave_up_);
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0)
        return keep;
    while (!queue_.empty())
        (void)finish();
    // The greatest of both are of one number if this is the same on all ranks.
    const std::uint64_t hash = check_.hash() + number_;
    auto votes = std::make_unique<std::array<std::uint64_t, 3>>();
    *votes = {keep ? 1U : 0U, hash, ~hash};
    const int count = static_cast<int>(votes->size());
    if (simulated) { // SimGrid makes all ranks send to all others in the non-blocking one
        MPI_Allreduce(MPI_IN_PLACE, votes->data(), count, MPI_UINT64_T, MPI_MAX, comm_->get());
    } else {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(MPI_IN_PLACE, votes->data(), count, MPI_UINT64_T, MPI_MAX, comm_->get(),
                       &request);
        const auto ended = [&] {
            int done = 0;
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            return done != 0;
        };
        try {
            wait_until(
                number_, ended, [] { return std::span<const int>(); }, [] { sched_yield(); });
        } catch (...) {
            (void)votes.release(); // MPI may still write to it
            throw;
        }
    }
    const auto [kept, most, least] = *votes;
    if (most != ~least) {
        gave_up_ = true;
        throw std::invalid_argument(
            "compositing: the visibility orders of the pictures so far are not the same on all "
            "ranks, as they must be. Give set_order the same list on all ranks for each picture, "
            "also on those that are not in it");
    }
    met_ = true;
    return kept != 0;
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
    order_hash_ = OrderCheck::hash_of(order_);
    in_order_ = std::ranges::find(order_, comm_->rank()) != order_.end();
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
    return static_cast<int>(number_ % slots_.size());
}

std::span<std::byte> Compositor::canvas() {
    const int index = next_slot();
    if (node_) {
        wait_until_free(index);
        return node_->canvas(index);
    }
    auto& canvas = slots_[static_cast<std::size_t>(index)].canvas;
    if (canvas.size() == 0)
        canvas = parallel::AlignedArray<std::byte>(static_cast<std::size_t>(shop_.shape.pixels()) *
                                                   shop_.shape.bytes());
    return canvas;
}

void Compositor::submit_canvas(std::optional<Rectangle> bounds) {
    submit_bytes(in_order_ ? canvas() : std::span<std::byte>(), bounds);
}

void Compositor::submit_bytes(std::span<const std::byte> image, std::optional<Rectangle> bounds) {
    const int index = next_slot();
    if (plan_->segment)
        wait_until_free(index);
    const Shape& all = shop_.shape;
    Rectangle part = bounds.value_or(all.whole());
    part = {overlap(part.x, {0, all.width}), overlap(part.y, {0, all.height})};
    if (!in_order_)
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
    slot.number = number_++;
    met_ = false;
    check([&] { check_.submitted(slot.number, order_hash_); });
    queue_.push_back(index);
    slot.frame->post(shop_.tags.picture(slot.number, check_.hash()));
    slot.here = false;
    slot.on_node = plan_->segment != nullptr;
    const Picture picture{image.data(), Width::narrow, part};
    if (slot.on_node) {
        node_->submit(index, slot.number, check_.hash(), plan_->segment, picture, plan_->width);
        if (const int other = node_->conflict(index); other >= 0)
            check([&] { check_.disagree(slot.number, other); });
    } else {
        slot.frame->start(picture);
    }
    progress();
}

/// Do what throws if orders differ; the compositor is of no more use then.
template <class Work> void Compositor::check(Work&& work) {
    try {
        work();
    } catch (const std::invalid_argument&) {
        gave_up_ = true;
        throw;
    }
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
    require_going(gave_up_);
    check([&] { check_.look(); });
    move_messages(false);
    move_nodes();
}

/// Wait until `done()`, by steps that move what can be moved; `ranks()`: the ranks that are waited
/// for, of picture `number`.
template <class Done, class Ranks, class Step>
void Compositor::wait_until(std::uint64_t number, Done&& done, Ranks&& ranks, Step&& step) {
    if (done())
        return;
    const double limit = options_.limit;
    const auto clock = [&] { return simulated && limit == 0 ? 0.0 : MPI_Wtime(); };
    const double start = clock();
    const double ask_after = limit > 0 ? std::min(max_silence, limit / 4) : max_silence;
    bool asked = false;
    do {
        check([&] { check_.look(); });
        const double waited = clock() - start;
        if (!asked && waited > ask_after) {
            check_.ask(number, ranks());
            asked = true;
        }
        if (limit > 0 && waited > limit) {
            gave_up_ = true;
            throw late(limit, ranks());
        }
        step();
    } while (!done());
}

void Compositor::wait_for(int index) {
    if (!slots_[static_cast<std::size_t>(index)].on_node) {
        (void)move_messages(simulated && options_.limit == 0);
        return;
    }
    // Messages of other pictures must not wait for this node.
    const bool alone = shop_.requests.empty();
    node_->wait(index, alone ? long_wait : short_wait);
    move_messages(false);
    move_nodes();
}

void Compositor::wait_until_free(int index) {
    wait_until(
        node_->number(index), [&] { return node_->is_free(index); },
        [&] {
            waiting_.clear();
            node_->add_missing(index, waiting_);
            return std::span<const int>(waiting_);
        },
        [&] {
            node_->wait_until_free(index, shop_.requests.empty() ? long_wait : short_wait);
            move_messages(false);
            move_nodes();
        });
}

Result Compositor::finish() {
    require_going(gave_up_);
    if (queue_.empty())
        throw std::logic_error("compositing: no picture is under way");
    const int index = queue_.front();
    const auto& slot = slots_[static_cast<std::size_t>(index)];
    progress();
    wait_until(
        slot.number, [&] { return done(slot); }, [&] { return waiting_for(index); },
        [&] { wait_for(index); });
    queue_.erase(queue_.begin());
    messages_ = slot.frame->messages();
    if (slot.here)
        return {{0, shop_.shape.pixels()}, node_->result(index)};
    if (!slot.frame->has_result())
        return {};
    return {slot.frame->region(), slot.frame->result()};
}

/// The ranks that the picture in a slot waits for.
std::span<const int> Compositor::waiting_for(int index) {
    const auto& slot = slots_[static_cast<std::size_t>(index)];
    waiting_.clear();
    if (slot.on_node)
        node_->add_missing(index, waiting_);
    shop_.requests.each_open([&](const Requests::Purpose& purpose) {
        if (purpose.frame == index)
            waiting_.push_back(purpose.stage < 0
                                   ? purpose.message
                                   : slot.frame->sender(purpose.stage, purpose.message));
    });
    std::ranges::sort(waiting_);
    const auto again = std::ranges::unique(waiting_);
    waiting_.erase(again.begin(), again.end());
    return waiting_;
}

std::size_t Compositor::bytes() const {
    std::size_t bytes = 0;
    for (const auto& slot : slots_)
        bytes += slot.frame->bytes() + slot.canvas.bytes();
    return bytes;
}

} // namespace uzushio::compositing
