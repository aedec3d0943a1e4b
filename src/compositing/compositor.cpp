#include "compositing/compositor.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <stdexcept>

#include "parallel/communicator.hpp"
#include "parallel/simulated.hpp"

namespace uzushio::compositing {

namespace {

constexpr auto long_wait = std::chrono::milliseconds(20);
constexpr auto short_wait = std::chrono::microseconds(100);
// Seconds after which a waiting rank sends its hash of visibility orders.
constexpr double max_silence = 0.02;

ImageShape shape(const CompositorOptions& options) {
    ImageShape result{options.width, options.height, options.format, options.far, {}};
    result.interlacing = PixelInterlacing(result.pixels(), options.interlace);
    return result;
}

void require_usable(bool failed) {
    if (failed)
        throw std::logic_error("compositing: this compositor has failed before; make a new one");
}

std::runtime_error timeout_error(double limit, std::span<const int> ranks) {
    std::string names;
    for (const int rank : ranks)
        names += (names.empty() ? " " : ", ") + std::to_string(rank);
    const std::string waited_for = ranks.empty() ? "other ranks" : "rank" + names;
    return std::runtime_error(
        "compositing: a picture timed out after 'limit' = " + std::to_string(limit) +
        " s, waiting for " + waited_for + ": did they fail, or leave out a call?");
}

const CompositorOptions& agreed(MPI_Comm comm, const CompositorOptions& options) {
    agree_on_options(comm, options);
    return options;
}

void require(bool valid, const std::string& what) {
    if (!valid)
        throw std::invalid_argument("compositing: " + what);
}

} // namespace

Compositor::Compositor(MPI_Comm comm, const CompositorOptions& options)
    : options_(agreed(comm, options)),
      comm_(std::make_unique<parallel::Communicator>(parallel::Communicator::duplicate(comm))),
      context_(shape(options), comm_->get(), options.frames),
      requested_(parse_algorithm(options.algorithm)), check_(comm_->get()) {
    if (requested_.name == "hybrid" || requested_.name == "auto")
        node_ = std::make_unique<NodeCompositor>(comm_->get(), context_.shape, options.frames,
                                                 options.ranks_per_node);
    planner_ = std::make_unique<CompositingPlanner>(context_.shape, comm_->rank(), options.root,
                                                    options.gather, options.fan_in, node_.get());
    std::vector<int> all(static_cast<std::size_t>(comm_->size()));
    std::iota(all.begin(), all.end(), 0);
    set_order(all);
    for (int i = 0; i < options.frames; ++i)
        slots_.push_back(
            {std::make_unique<PictureInFlight>(context_, i), nullptr, {}, 0, false, false});
    queue_.reserve(slots_.size());
    waiting_.reserve(4 * all.size());
}

Compositor::~Compositor() {
    try {
        if (!abandoned_ && !failed_ && !finished_all_) {
            failed_ = std::uncaught_exceptions() > exceptions_;
            if (!failed_)
                (void)finish_all();
        }
    } catch (const std::exception&) {
        failed_ = true;
    }
    if (failed_)
        abandon();
    if (context_.messages.empty())
        return;
    // Messages may still arrive or be sent: leak their memory.
    for (auto& slot : slots_) {
        (void)slot.picture.release();
        (void)new parallel::AlignedArray<std::byte>(std::move(slot.canvas));
    }
}

void Compositor::abandon() {
    abandoned_ = true;
    if (node_)
        node_->abandon();
    (void)comm_.release();
}

bool Compositor::finish_all(bool keep) {
    require_usable(failed_);
    if (parallel::mpi_is_finalized())
        return keep;
    while (!queue_.empty())
        (void)finish();
    const std::uint64_t hash = check_.hash() + number_;
    const auto [kept, max_hash, max_complement] = reduce_max({keep ? 1U : 0U, hash, ~hash});
    if (max_hash != ~max_complement) { // else all hashes are equal
        failed_ = true;
        throw std::invalid_argument(
            "compositing: the visibility orders of the pictures so far are not the same on all "
            "ranks. Give set_order the same list on all ranks for each picture, also on those that "
            "are not in it");
    }
    finished_all_ = true;
    return kept != 0;
}

/// Return the maxima over all ranks (collective). Throw after `CompositorOptions::limit`.
std::array<std::uint64_t, 3> Compositor::reduce_max(std::array<std::uint64_t, 3> own) {
    const int count = static_cast<int>(own.size());
    if (parallel::simulated) { // SimGrid's non-blocking reduction sends between all pairs of ranks
        MPI_Allreduce(MPI_IN_PLACE, own.data(), count, MPI_UINT64_T, MPI_MAX, comm_->get());
        return own;
    }
    auto values = std::make_unique<std::array<std::uint64_t, 3>>(own);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, values->data(), count, MPI_UINT64_T, MPI_MAX, comm_->get(),
                   &request);
    const auto completed = [&] {
        int done = 0;
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        return done != 0;
    };
    try {
        wait_until(
            number_, completed, [] { return std::span<const int>(); }, [] { sched_yield(); });
    } catch (...) {
        (void)values.release(); // MPI may still write to it
        throw;
    }
    return *values;
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
    chosen_ = requested_.name == "auto" ? planner_->choose(order_, machine()) : requested_;
    plan_ = std::make_shared<CompositingPlan>(planner_->plan(chosen_, order_));
}

const MachineRates& Compositor::machine() {
    if (!machine_)
        machine_ = measure_rates(comm_->get(), context_.shape);
    return *machine_;
}

double Compositor::predict(const AlgorithmSpec& spec) {
    return planner_->predict(spec, order_, machine());
}

int Compositor::next_slot() const {
    require_usable(failed_);
    if (queue_.size() == slots_.size())
        throw std::logic_error("compositing: " + std::to_string(slots_.size()) +
                               " pictures are in flight already: finish one first");
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
        canvas = parallel::AlignedArray<std::byte>(
            static_cast<std::size_t>(context_.shape.pixels()) * context_.shape.bytes());
    return canvas;
}

void Compositor::submit_canvas(std::optional<Rectangle> bounds) {
    submit_bytes(in_order_ ? canvas() : std::span<std::byte>(), bounds);
}

void Compositor::submit_bytes(std::span<const std::byte> image, std::optional<Rectangle> bounds) {
    const int index = next_slot();
    if (plan_->segment)
        wait_until_free(index);
    const ImageShape& all = context_.shape;
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
        slot.picture->prepare(plan_->schedule);
    }
    slot.number = number_++;
    finished_all_ = false;
    fail_on_conflict([&] { check_.add_picture(slot.number, order_hash_); });
    queue_.push_back(index);
    slot.picture->post(context_.tags.picture(slot.number, check_.hash()));
    slot.complete = false;
    slot.on_node = plan_->segment != nullptr;
    const ImageView view{image.data(), ChannelWidth::narrow, part};
    if (slot.on_node) {
        node_->submit(index, slot.number, check_.hash(), plan_->segment, view, plan_->width);
        if (const int other = node_->conflict(index); other >= 0)
            fail_on_conflict([&] { check_.report_conflict(slot.number, other); });
    } else {
        slot.picture->start(view);
    }
    progress();
}

/// Do work that throws if visibility orders differ; the compositor has then failed.
template <class Work> void Compositor::fail_on_conflict(Work&& work) {
    try {
        work();
    } catch (const std::invalid_argument&) {
        failed_ = true;
        throw;
    }
}

bool Compositor::done(const ImageSlot& slot) const { return !slot.on_node && slot.picture->done(); }

bool Compositor::move_messages(bool wait) {
    return context_.messages.progress(
        wait, [&](const PendingMessages::CompletionTarget& target, std::size_t bytes) {
            auto& picture = *slots_[static_cast<std::size_t>(target.frame)].picture;
            if (target.stage < 0)
                picture.sent();
            else
                picture.received(target.stage, target.message, bytes);
        });
}

void Compositor::move_nodes() {
    for (const int index : queue_) {
        auto& slot = slots_[static_cast<std::size_t>(index)];
        if (!slot.on_node || !node_->progress(index))
            continue;
        slot.on_node = false;
        slot.complete = slot.plan->complete;
        if (slot.plan->leads && !slot.complete)
            slot.picture->start(
                {node_->result(index).data(), slot.plan->width, context_.shape.whole()});
    }
}

void Compositor::progress() {
    require_usable(failed_);
    fail_on_conflict([&] { check_.poll(); });
    move_messages(false);
    move_nodes();
}

/// Call `step()` until `done()`. `ranks()` returns the ranks that are waited for; `number` is the
/// picture.
template <class Done, class Ranks, class Step>
void Compositor::wait_until(std::uint64_t number, Done&& done, Ranks&& ranks, Step&& step) {
    if (done())
        return;
    const double limit = options_.limit;
    const auto clock = [&] { return parallel::simulated && limit == 0 ? 0.0 : MPI_Wtime(); };
    const double start = clock();
    const double send_after = limit > 0 ? std::min(max_silence, limit / 4) : max_silence;
    bool sent_hash = false;
    do {
        fail_on_conflict([&] { check_.poll(); });
        const double waited = clock() - start;
        if (!sent_hash && waited > send_after) {
            check_.send_hash(number, ranks());
            sent_hash = true;
        }
        if (limit > 0 && waited > limit) {
            failed_ = true;
            throw timeout_error(limit, ranks());
        }
        step();
    } while (!done());
}

void Compositor::wait_for(int index) {
    if (!slots_[static_cast<std::size_t>(index)].on_node) {
        (void)move_messages(parallel::simulated && options_.limit == 0);
        return;
    }
    // With messages in flight, wait briefly: other pictures need them.
    const bool alone = context_.messages.empty();
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
            node_->wait_until_free(index, context_.messages.empty() ? long_wait : short_wait);
            move_messages(false);
            move_nodes();
        });
}

CompositedPixels Compositor::finish() {
    require_usable(failed_);
    if (queue_.empty())
        throw std::logic_error("compositing: no picture is in flight");
    const int index = queue_.front();
    const auto& slot = slots_[static_cast<std::size_t>(index)];
    progress();
    wait_until(
        slot.number, [&] { return done(slot); }, [&] { return waiting_for(index); },
        [&] { wait_for(index); });
    queue_.erase(queue_.begin());
    messages_ = slot.picture->messages();
    if (slot.complete)
        return {{0, context_.shape.pixels()}, node_->result(index)};
    if (!slot.picture->has_result())
        return {};
    return {slot.picture->region(), slot.picture->result()};
}

/// Return the ranks that the picture in a slot waits for.
std::span<const int> Compositor::waiting_for(int index) {
    const auto& slot = slots_[static_cast<std::size_t>(index)];
    waiting_.clear();
    if (slot.on_node)
        node_->add_missing(index, waiting_);
    context_.messages.for_each_pending([&](const PendingMessages::CompletionTarget& target) {
        if (target.frame == index)
            waiting_.push_back(target.stage < 0
                                   ? target.message
                                   : slot.picture->sender(target.stage, target.message));
    });
    std::ranges::sort(waiting_);
    const auto again = std::ranges::unique(waiting_);
    waiting_.erase(again.begin(), again.end());
    return waiting_;
}

std::size_t Compositor::bytes() const {
    std::size_t bytes = 0;
    for (const auto& slot : slots_)
        bytes += slot.picture->bytes() + slot.canvas.bytes();
    return bytes;
}

} // namespace uzushio::compositing
