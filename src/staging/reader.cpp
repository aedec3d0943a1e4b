#include "staging/reader.hpp"

#include <array>
#include <span>
#include <utility>

#include "parallel/aligned_array.hpp"
#include "staging/datamodel/copy.hpp"
#include "staging/datamodel/planner.hpp"
#include "staging/datamodel/select.hpp"
#include "staging/datamodel/structure.hpp"
#include "staging/in_quotes.hpp"
#include "staging/own_process.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/transport/engines.hpp"
#include "staging/transport/step_source.hpp"
#include "staging/wire/checksum.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging {
namespace {

using Step = std::shared_ptr<const Announce>;

constexpr Require<StagingError> require;

/// The step in the bytes of a whole Announce, which anyone may have sent.
Step decode_announce(std::span<const std::byte> bytes) {
    require(bytes.size() >= Frame::size, "The writer announced a step with a message cut short.");
    const Frame frame = decode_frame(bytes.first<Frame::size>());
    Message message = decode(frame, bytes.subspan(Frame::size));
    auto* announce = std::get_if<Announce>(&message);
    require(announce != nullptr, "The writer sent something else where it should announce a step.");
    for (const Block& block : announce->step.blocks)
        require(announce->places.empty() || block.rank < announce->places.size(),
                "The writer announced a block of rank " + std::to_string(block.rank) +
                    ", but only " + std::to_string(announce->places.size()) + " ranks.");
    return std::make_shared<const Announce>(std::move(*announce));
}

std::optional<std::uint32_t> array_of(const Block& block, std::uint32_t field) {
    for (std::size_t i = 0; i < block.arrays.size(); ++i)
        if (block.arrays[i].field == field)
            return static_cast<std::uint32_t>(i);
    return std::nullopt;
}

/// Which collective member a rank is in.
enum class Doing : std::uint8_t { next, release, detach };

/// What rank 0's wait for a step brought, or that it failed.
enum class News : std::uint8_t { step, timeout, ended, detached, error };
static_assert(static_cast<int>(News::detached) == static_cast<int>(Arrival::detached));

} // namespace

struct Reader::State {
    State(MPI_Comm comm, const ReaderOptions& given)
        : group(stream_group(comm, "this reader")), options(given) {}

    void require_own() const {
        require(process.here(), [] {
            return "The reader is the process's that attached it: a process forked from that "
                   "attaches a reader of its own.";
        });
    }
    [[nodiscard]] Step stands_at() const {
        Step step = source ? source->current() : nullptr;
        return step ? step : current;
    }
    [[nodiscard]] const Announce& announce() {
        Step step = stands_at();
        require(step != nullptr, [&] {
            return source ? "There is no step: call next first, and go on if it brings one."
                          : "The reader has detached: there is no step.";
        });
        if (step != planned) {
            if (planned == nullptr || !same_structure(planned->step, step->step))
                planners.clear();
            planned = std::move(step);
            planners.resize(planned->step.fields.size());
        }
        return *planned;
    }
    [[nodiscard]] std::uint32_t field_of(std::string_view name) {
        const StepInfo& step = announce().step;
        const auto field = find_field(step, name);
        if (!field) {
            std::string names;
            for (const Field& known : step.fields)
                names += (names.empty() ? " It has " : ", ") + in_quotes(known.name);
            throw StagingError("The step has no field " + in_quotes(name) + "." + names +
                               (names.empty() ? "" : "."));
        }
        return *field;
    }
    [[nodiscard]] const Planner& planner(std::uint32_t field) {
        auto& planner = planners[field];
        if (!planner)
            planner.emplace(announce().step, field);
        return *planner;
    }
    /// Block, field and array, checked.
    [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> array(std::string_view name,
                                                                std::uint32_t block) {
        const StepInfo& step = announce().step;
        const std::uint32_t field = field_of(name);
        require(block < step.blocks.size(), [&] {
            return "The step has no block of the number " + std::to_string(block) + ": it has " +
                   std::to_string(step.blocks.size()) + ".";
        });
        const auto place = array_of(step.blocks[block], field);
        require(place.has_value(), [&] {
            return "Block " + std::to_string(step.blocks[block].id) + " has no values of field " +
                   in_quotes(name) + ".";
        });
        return {field, *place};
    }

    void require_shape(std::uint32_t field, const Box& box, const ArrayView& to);
    void take(const Plan& plan, const ArrayView& to, std::vector<Fetch>& wanted);
    void fetch(std::span<const Fetch> wanted);
    void meet(Doing mine);
    void drop();
    /// Whether other ranks may wait for this one.
    [[nodiscard]] bool awaited() const {
        return source && !parted && !ended && source->current() == nullptr && process.here();
    }
    [[nodiscard]] Arrival arrive(News news, std::span<const std::byte> message);

    OwnProcess process;
    parallel::CollectiveGroup group;
    ReaderOptions options;
    std::unique_ptr<StepSource> source; ///< null once detached; may use the group
    Step current;                       ///< that `next` brought
    Step planned;                       ///< that the planners are for
    std::vector<std::optional<Planner>> planners;
    std::optional<std::string> kept; ///< why the step cannot be given back
    bool ended = false;
    bool parted = false; ///< all ranks have
};

void Reader::State::require_shape(std::uint32_t field, const Box& box, const ArrayView& to) {
    const Field& of = announce().step.fields[field];
    const auto what = [&] { return "The memory for field " + in_quotes(of.name); };
    require(to.count == box.count, [&] {
        return what() + " has the shape " + to_string(Box{{}, to.count}) + ", but what is read, " +
               to_string(box) + ", has another.";
    });
    require(to.components == of.components, [&] {
        return what() + " is for " + std::to_string(to.components) +
               " components, but the field has " + std::to_string(of.components) + ".";
    });
    require(to.scalar_bytes == size_of(of.type), [&] {
        return what() + " is for values of " + std::to_string(to.scalar_bytes) +
               " bytes, but the field is of " + std::string(name_of(of.type)) + ".";
    });
    require(to.data != nullptr || box.empty(), [&] { return what() + " is a null pointer."; });
}

/// Copy the pieces of a plan that can be looked at; the rest is to be fetched.
void Reader::State::take(const Plan& plan, const ArrayView& to, std::vector<Fetch>& wanted) {
    const Announce& step = announce();
    for (const Piece& piece : plan.pieces) {
        const ArrayView target = to.sub(piece.target);
        if (const auto array = source->view(step, piece.block, piece.array))
            copy(array->sub(piece.source), target);
        else
            wanted.push_back(
                {piece.rank, request_of(step.step, piece, step.sequence, wanted.size()), target});
    }
}

void Reader::State::fetch(std::span<const Fetch> wanted) {
    try {
        source->fetch(announce(), wanted, options.answer_limit);
    } catch (const StagingError&) {
        group.poll_abort(); // the reason, if it took the step with it
        throw;
    }
}

/// Begins what is collective: throws on all ranks if they are in different members, or one has to
/// keep the step.
void Reader::State::meet(Doing mine) {
    const auto code = static_cast<std::uint64_t>(mine);
    const bool keep = kept && mine != Doing::detach;
    std::array<std::uint64_t, 3> most{code, ~code, keep ? 1u : 0u};
    group.max(most);
    if (most[0] != ~most[1]) {
        parted = true; // nothing more is done together
        constexpr std::array<const char*, 3> names{"next", "release", "detach"};
        throw StagingError("Some ranks of this reader called " + std::string(names[~most[1]]) +
                           " while others called " + names[most[0]] +
                           ": all have to call the same, and leave together.");
    }
    if (most[2] != 0)
        group.agree(keep ? kept : std::nullopt);
}

/// Done with the step on all ranks; throws on all.
void Reader::State::drop() {
    const Step step = std::exchange(current, nullptr);
    // Rank 0 may tell the writer only after all are done: agreeing is what it waits for.
    group.run_collectively([&] { source->end(*step); });
}

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
        (void)state_.release(); // nothing in there is ours to end
    else if (state_)
        leave(nullptr);
}

void Reader::leave(const std::exception_ptr& why) noexcept {
    State& state = *state_;
    if (state.awaited()) {
        static const auto unknown = std::make_exception_ptr(
            StagingError("it failed, or ended its reader alone; all have to detach together."));
        state.group.abort(why ? why : unknown);
    }
    state.parted = true;
}

Arrival Reader::next(std::chrono::nanoseconds limit) {
    State& state = *state_;
    state.require_own();
    if (!state.source || state.parted)
        return Arrival::detached;
    require(state.source->current() == nullptr,
            "A reader inside the solver's step stands at that step: it has no next one.");
    state.meet(Doing::next);
    const std::uint64_t before = state.current ? state.current->sequence : 0;
    const bool held = state.current != nullptr;
    if (held)
        state.drop();

    std::exception_ptr error;
    std::vector<std::byte> news{static_cast<std::byte>(News::ended)};
    const bool first = state.group.rank() == 0;
    const bool all = state.group.size() > 1 && state.source->collective();
    if (first || all) {
        try {
            const parallel::WaitHook watching = state.group.watch_abort();
            if (held && first)
                state.source->release(before);
            if (!state.ended) {
                const AnnouncedStep announced = state.source->next(limit);
                news[0] = static_cast<std::byte>(announced.arrival);
                if (announced.arrival == Arrival::step)
                    news.insert(news.end(), announced.message->begin(), announced.message->end());
            }
        } catch (...) {
            error = std::current_exception();
            news.assign(1, static_cast<std::byte>(News::error));
        }
    }
    if (all)
        state.group.agree(error);
    news = state.group.broadcast(std::move(news));
    const auto kind = static_cast<News>(news[0]);
    if (kind == News::error)
        state.group.agree(error);
    return state.arrive(kind, std::span(news).subspan(1));
}

Arrival Reader::State::arrive(News news, std::span<const std::byte> message) {
    switch (news) {
    case News::step:
        break;
    case News::ended:
        ended = true;
        return Arrival::ended;
    case News::detached:
        return Arrival::detached;
    case News::timeout:
    case News::error:
        return Arrival::timeout;
    }
    std::exception_ptr error;
    try {
        current = decode_announce(message);
        source->begin(*current);
    } catch (...) {
        error = std::current_exception();
    }
    try {
        group.agree(error);
    } catch (...) {
        current = nullptr;
        source = nullptr;
        throw;
    }
    return Arrival::step;
}

const StepInfo& Reader::step() const { return state_->announce().step; }

std::uint64_t Reader::sequence() const { return state_->announce().sequence; }

std::vector<Box> Reader::read(std::string_view field, const Box& box, const ArrayView& to) {
    State& state = *state_;
    state.require_own();
    Plan plan;
    std::exception_ptr error;
    try {
        const std::uint32_t place = state.field_of(field);
        plan = state.planner(place).plan(box);
        state.require_shape(place, box, to);
    } catch (...) {
        error = std::current_exception();
        if (!state.source)
            throw;
    }
    state.source->check(error);
    std::vector<Fetch> wanted;
    state.take(plan, to, wanted);
    state.fetch(wanted);
    return std::move(plan.missing);
}

void Reader::read_block(std::string_view field, std::uint32_t block, bool with_ghosts,
                        const ArrayView& to) {
    const BlockTarget target{block, to};
    read_blocks(field, {&target, 1}, with_ghosts);
}

void Reader::read_blocks(std::string_view field, std::span<const BlockTarget> targets,
                         bool with_ghosts) {
    State& state = *state_;
    state.require_own();
    std::vector<Plan> plans;
    plans.reserve(targets.size());
    std::exception_ptr error;
    try {
        for (const auto& [block, to] : targets) {
            const auto place = state.array(field, block).first;
            plans.push_back(
                state.planner(place).plan_block(state.announce().step, block, with_ghosts));
            state.require_shape(place, plans.back().box, to);
        }
    } catch (...) {
        error = std::current_exception();
        if (!state.source)
            throw;
    }
    state.source->check(error);
    std::vector<Fetch> wanted;
    for (std::size_t i = 0; i < targets.size(); ++i)
        state.take(plans[i], targets[i].to, wanted);
    state.fetch(wanted);
}

std::optional<ConstArrayView> Reader::view(std::string_view field, std::uint32_t block) {
    const auto array = state_->array(field, block).second;
    return state_->source->view(state_->announce(), block, array);
}

bool Reader::verify(std::string_view field, std::uint32_t block) {
    State& state = *state_;
    const auto [place, number] = state.array(field, block);
    const StepInfo& step = state.announce().step;
    const StoredArray& array = step.blocks[block].arrays[number];
    require(array.checksum.has_value(), "The values of field " + in_quotes(field) +
                                            " came without a checksum: open the writer "
                                            "with checksums to verify them.");
    const Order order = natural_order(array.layout);
    if (const auto values = state.source->view(state.announce(), block, number))
        return checksum(*values, order) == *array.checksum;
    const Extent count = stored_box(step, step.blocks[block], array).count;
    const std::int64_t components = step.fields[place].components;
    const std::int64_t bytes = size_of(step.fields[place].type);
    parallel::AlignedArray<std::byte> memory(
        static_cast<std::size_t>(Box{{}, count}.volume() * components * bytes));
    const ArrayView values = packed_view(memory.data(), count, components, bytes);
    read_block(field, block, true, values);
    return checksum(values, order) == *array.checksum;
}

void Reader::release() {
    State& state = *state_;
    if (state.current == nullptr || state.parted || !state.process.here())
        return;
    state.meet(Doing::release);
    const std::uint64_t sequence = state.current->sequence;
    state.drop();
    state.group.run_collectively([&] {
        if (state.group.rank() == 0)
            state.source->release(sequence);
    });
}

void Reader::keep_step(std::optional<std::string> why) { state_->kept = std::move(why); }

void Reader::part() {
    State& state = *state_;
    try {
        // Also: no rank's requests are under way when the writer hears of it.
        if (state.awaited())
            state.meet(Doing::detach);
    } catch (const StagingError&) { // those that stay are told
    }
    state.parted = true;
}

void Reader::detach() {
    State& state = *state_;
    if (!state.source || state.source->current() != nullptr || !state.process.here())
        return;
    part();
    if (const Step step = std::exchange(state.current, nullptr))
        state.source->end(*step);
    state.source = nullptr;
}

} // namespace uzushio::staging
