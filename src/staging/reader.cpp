#include "staging/reader.hpp"

#include <span>
#include <string>
#include <utility>

#include "parallel/aligned_array.hpp"
#include "staging/reader_state.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/engines.hpp"
#include "staging/wire/checksum.hpp"

namespace uzushio::staging {

Reader::Reader(const std::string& contact, MPI_Comm comm, const ReaderOptions& options)
    : state_(std::make_unique<State>(comm, options)) {
    state_->source = attach(contact, state_->group, options);
}

Reader::Reader(std::unique_ptr<StepSource> source, MPI_Comm comm, const ReaderOptions& options)
    : state_(std::make_unique<State>(comm, options)) {
    state_->source = std::move(source);
}

Reader::Reader(Reader&&) noexcept = default;
Reader::~Reader() {
    if (state_ && !state_->process.here())
        (void)state_.release(); // belongs to the parent process
    else if (state_)
        abort(state_->read_error);
}

void Reader::abort(const std::exception_ptr& why) noexcept {
    State& state = *state_;
    if (state.others_may_wait()) {
        static const auto unknown = std::make_exception_ptr(
            StagingError("it failed, or ended its reader alone; all have to detach together."));
        state.group.abort(why ? why : unknown);
    }
    state.detached = true;
}

StepStatus Reader::next(std::chrono::nanoseconds limit) {
    State& state = *state_;
    state.require_own_process();
    if (!state.source || state.detached)
        return StepStatus::detached;
    require(state.source->current() == nullptr,
            "A reader inside the solver's step has that step only: next cannot be called.");
    state.agree_on_command(State::Command::next);
    const std::uint64_t before = state.current ? state.current->sequence : 0;
    const bool held = state.current != nullptr;
    if (held)
        state.end_step();

    std::exception_ptr error;
    std::vector<std::byte> event{static_cast<std::byte>(State::Event::ended)};
    const bool first = state.group.rank() == 0;
    const bool all = state.group.size() > 1 && state.source->collective();
    if (first || all) {
        try {
            const parallel::WaitHook watching = state.group.watch_abort();
            if (held && first)
                state.source->release(before);
            if (!state.ended) {
                const AnnouncedStep announced = state.source->next(limit);
                event[0] = static_cast<std::byte>(announced.status);
                if (announced.status == StepStatus::step)
                    event.insert(event.end(), announced.message->begin(), announced.message->end());
            }
        } catch (...) {
            error = std::current_exception();
            event.assign(1, static_cast<std::byte>(State::Event::error));
        }
    }
    if (all)
        state.group.agree(error);
    event = state.group.broadcast(std::move(event));
    const auto kind = static_cast<State::Event>(event[0]);
    if (kind == State::Event::error)
        state.group.agree(error);
    return state.handle_event(kind, std::span(event).subspan(1));
}

void Reader::seek(std::uint64_t sequence) {
    State& state = *state_;
    state.require_own_process();
    require(state.source != nullptr, "The reader has detached; attach again to read on.");
    state.source->seek(sequence);
    state.ended = false;
}

std::optional<std::vector<StoredStep>> Reader::stored_steps() {
    State& state = *state_;
    state.require_own_process();
    require(state.source != nullptr, "The reader has detached; attach again to read on.");
    return state.source->stored_steps();
}

const StepInfo& Reader::step() const { return state_->announce().step; }

std::uint64_t Reader::sequence() const { return state_->announce().sequence; }

std::vector<Box> Reader::read(std::string_view field, const Box& box, const ArrayView& to) {
    State& state = *state_;
    return state.run_read([&] {
        ReadPlan plan;
        state.check_on_all([&] {
            const std::uint32_t place = state.field_of(field);
            plan = state.planner(place).plan(box);
            state.require_shape(place, box, to);
        });
        std::vector<Fetch> fetches;
        state.copy_visible(plan, to, fetches);
        state.fetch(fetches);
        return std::move(plan.missing);
    });
}

void Reader::read_block(std::string_view field, std::uint32_t block, bool with_ghosts,
                        const ArrayView& to) {
    const BlockTarget target{block, to};
    read_blocks(field, {&target, 1}, with_ghosts);
}

void Reader::read_blocks(std::string_view field, std::span<const BlockTarget> targets,
                         bool with_ghosts) {
    State& state = *state_;
    state.run_read([&] {
        std::vector<ReadPlan> plans;
        plans.reserve(targets.size());
        state.check_on_all([&] {
            for (const auto& [block, to] : targets) {
                const auto place = state.field_and_array(field, block).first;
                plans.push_back(
                    state.planner(place).plan_block(state.announce().step, block, with_ghosts));
                state.require_shape(place, plans.back().box, to);
            }
        });
        std::vector<Fetch> fetches;
        for (std::size_t i = 0; i < targets.size(); ++i)
            state.copy_visible(plans[i], targets[i].to, fetches);
        state.fetch(fetches);
    });
}

std::optional<ConstArrayView> Reader::view(std::string_view field, std::uint32_t block) {
    const auto array = state_->field_and_array(field, block).second;
    return state_->source->view(state_->announce(), block, array);
}

bool Reader::verify(std::string_view field, std::uint32_t block) {
    State& state = *state_;
    const auto [place, number] = state.field_and_array(field, block);
    const StepInfo& step = state.announce().step;
    const StoredArray& array = step.blocks[block].arrays[number];
    require(array.checksum.has_value(), "The values of field ", quote(field),
            " have no checksum: open the writer with checksums to verify them.");
    const ComponentOrder order = natural_order(array.layout);
    if (const auto values = state.source->view(state.announce(), block, number))
        return checksum(*values, order) == *array.checksum;
    const Extent count = stored_box(step, step.blocks[block], array).extents();
    const std::int64_t components = step.fields[place].components;
    const std::int64_t bytes = size_of(step.fields[place].type);
    parallel::AlignedArray<std::byte> memory(
        static_cast<std::size_t>(Box::of(count).volume() * components * bytes));
    const ArrayView values = packed_view(memory.data(), count, components, bytes);
    read_block(field, block, true, values);
    return checksum(values, order) == *array.checksum;
}

std::uint64_t Reader::send(std::string text) {
    State& state = *state_;
    state.require_own_process();
    require(state.group.rank() == 0, "Commands are sent by rank 0 of a reader.");
    require(state.source && !state.detached && !state.ended,
            "The stream has ended, or the reader has detached: a command cannot be sent.");
    require(text.size() <= Command::max_text, "A command has at most ", Command::max_text,
            " bytes; this one has ", text.size(), ".");
    state.source->send({++state.commands, std::move(text)});
    return state.commands;
}

std::vector<Reply> Reader::take_replies() {
    return state_->source ? state_->source->take_replies() : std::vector<Reply>();
}

void Reader::release() {
    State& state = *state_;
    if (state.current == nullptr || state.detached || !state.process.here())
        return;
    state.agree_on_command(State::Command::release);
    const std::uint64_t sequence = state.current->sequence;
    state.end_step();
    state.group.run_on_root([&] { state.source->release(sequence); });
}

void Reader::keep_step(std::optional<std::string> why) { state_->keep_reason = std::move(why); }

void Reader::agree_to_detach() {
    State& state = *state_;
    try {
        // Also ensures that no rank has requests in flight when the writer is notified.
        if (state.others_may_wait())
            state.agree_on_command(State::Command::detach);
    } catch (const StagingError&) { // the other ranks throw it
    }
    state.detached = true;
}

void Reader::detach() {
    State& state = *state_;
    if (!state.source || state.source->current() != nullptr || !state.process.here())
        return;
    agree_to_detach();
    if (const State::Step step = std::exchange(state.current, nullptr))
        state.source->end(*step);
    state.source = nullptr;
}

} // namespace uzushio::staging
