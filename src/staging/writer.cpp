#include "staging/writer.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "staging/described_text.hpp"
#include "staging/description.hpp"
#include "staging/exception_of.hpp"
#include "staging/in_situ_work.hpp"
#include "staging/interrupt.hpp"
#include "staging/notice.hpp"
#include "staging/process_identity.hpp"
#include "staging/queue/buffer_pool.hpp"
#include "staging/queue/queue_timeout.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/transport/engines.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging {

namespace {

/// Engine of a stream that has ended after an error: it publishes nothing.
class NoEngine : public WriterEngine {
  public:
    explicit NoEngine(const QueueCounters& counters) : counters_(counters) {}
    std::optional<std::uint64_t> publish(LocalStep) override { return std::nullopt; }
    void close() override {}
    [[nodiscard]] QueueCounters counters() const override { return counters_; }
    void on_step(std::function<void(Reader&)>) override {}

  private:
    QueueCounters counters_;
};

/// Errors of `defer_error`, and no other, on at least one rank.
class DeferredError : public StagingError {
  public:
    using StagingError::StagingError;
};

std::string text_of(const std::exception_ptr& error) {
    try {
        if (error)
            std::rethrow_exception(error);
    } catch (const std::exception& reason) {
        return reason.what();
    }
    return {};
}

} // namespace

struct Writer::State {
    State(std::string stream, MPI_Comm comm)
        : name(std::move(stream)), group(stream_group(comm, "this writer")),
          description(static_cast<std::uint32_t>(group.rank())) {}

    void require_own(const char* member) const {
        require(process.here(), "The stream ", quote(name),
                " belongs to the process that opened it: ", member,
                " cannot be called in a forked process.");
    }
    void require_open_step(const char* member) const {
        require(!closed, "The stream ", quote(name), " is closed.");
        require(step_open, member, " belongs between begin_step and end_step.");
    }

    /// Throw if the table of this rank's part alone exceeds what readers accept.
    void require_table() const {
        const std::size_t bytes = description.min_table_bytes(), max = engine->max_table_bytes();
        require(bytes <= max, "The table of a step with these blocks and arrays has at least ",
                bytes, " bytes, and the maximum is ", max,
                ": use fewer or larger blocks, or fewer fields.");
    }

    /// Throw on all ranks if one has an error, or if their steps differ; DeferredError if no rank
    /// has another error. Return whether a rank has put values: one reduction for all.
    [[nodiscard]] bool agree_on_step(const std::exception_ptr& error) {
        const std::exception_ptr first = deferred ? std::exchange(deferred, nullptr) : error;
        const auto bits = static_cast<std::uint64_t>(index);
        std::array<std::uint64_t, 4> max{first == nullptr ? 0u
                                         : first == error ? 2u
                                                          : 1u,
                                         bits, ~bits, description.has_values() ? 1u : 0u};
        group.max(max);
        if (max[0] == 1)
            throw DeferredError(text_of(exception_of([&] { group.agree(first); })));
        if (max[0] != 0)
            group.agree(first);
        require(max[1] == ~max[2], "Ranks publish steps ", static_cast<std::int64_t>(max[1]),
                " and ", static_cast<std::int64_t>(~max[2]),
                " as one: all must publish the same step.");
        return max[3] != 0;
    }

    /// Print a notice on rank 0, once for all failures of a kind.
    void warn(bool& warned, const char* consequence, const std::string& reason) const {
        if (!std::exchange(warned, true) && group.rank() == 0)
            notice(sentence(consequence, reason, " (Stream ", quote(name), ", on_error: warn.)"));
    }

    /// Run `work` of the engine, the same on all ranks. With `on_error: warn`, end the stream after
    /// an error, and return whether there was none.
    template <class Work> bool run_engine(Work&& work) {
        std::string reason;
        try {
            std::forward<Work>(work)();
            return true;
        } catch (const QueueTimeout&) {
            throw;
        } catch (const Interrupted&) {
            throw;
        } catch (const StagingError& error) {
            if (!tolerant)
                throw;
            reason = error.what();
        }
        warn(ended, "Nothing more is published, and the program continues: ", reason);
        const QueueCounters counters = engine ? engine->counters() : QueueCounters{};
        if (engine)
            engine->abandon();
        ended_engine = std::exchange(engine, std::make_unique<NoEngine>(counters));
        return false;
    }

    /// Notify the other ranks that this rank has failed.
    void abort(std::string_view reason) {
        if (!closed)
            group.abort(std::make_exception_ptr(StagingError(std::string(reason))));
    }

    /// Remove the step's values; the next step may begin.
    void finish_step() {
        step_open = publishing = false;
        description.clear();
        pool.end_step();
    }

    ProcessIdentity process;
    std::string name;
    parallel::CollectiveGroup group;
    std::unique_ptr<WriterEngine> engine;       ///< uses the group
    std::unique_ptr<WriterEngine> ended_engine; ///< its memory remains valid, see `buffer`
    std::unique_ptr<InSituWork> in_situ;        ///< of the options, for engine inproc
    bool tolerant = false;                      ///< `on_error: warn`
    bool ended = false, step_warned = false;    ///< whether these failures were reported
    std::exception_ptr deferred;                ///< error of this rank for the next `end_step`
    Description description;
    BufferPool pool;
    bool step_open = false;
    bool publishing = false; ///< in end_step, where work of engine inproc may run
    bool closed = false;
    bool empty_noticed = false; ///< whether a step without values was reported
    std::int64_t index = 0;
    double time = 0;
};

Writer::Writer(std::string name, MPI_Comm comm, const EngineOptions& options)
    : state_(std::make_unique<State>(std::move(name), comm)) {
    state_->group.run_collectively([&] {
        require(!state_->name.empty(), "A stream needs a name.");
        require_text("The name of a stream", state_->name);
    });
    state_->tolerant = options.on_error == OnError::warn;
    state_->run_engine([&] {
        auto engine = make_engine(state_->name, state_->group, options);
        if (options.engine == "inproc")
            state_->in_situ = load_in_situ_work(state_->name, state_->group, comm, options.in_situ);
        if (state_->in_situ)
            engine->on_step([work = state_->in_situ.get()](Reader& reader) { work->step(reader); });
        state_->engine = std::move(engine);
    });
}

Writer::Writer(std::string name, MPI_Comm comm, std::unique_ptr<WriterEngine> engine,
               OnError on_error)
    : state_(std::make_unique<State>(std::move(name), comm)) {
    state_->tolerant = on_error == OnError::warn;
    state_->engine = std::move(engine);
}

Writer::Writer(Writer&&) noexcept = default;
Writer::~Writer() {
    if (state_ && !state_->process.here())
        (void)state_.release(); // belongs to the parent process
    else if (state_)
        state_->abort("it failed, or ended its writer without closing it.");
}

void Writer::attribute(std::string name, std::variant<std::int64_t, double, std::string> value) {
    state_->description.attribute(std::move(name), std::move(value));
}

void Writer::uniform_mesh(std::string name, const Box& elements, std::array<double, 3> origin,
                          std::array<double, 3> spacing, std::uint8_t dimension) {
    state_->description.mesh(std::move(name), elements, dimension, UniformCoords{origin, spacing});
}

void Writer::rectilinear_mesh(std::string name, const Box& elements,
                              std::array<std::vector<double>, 3> coordinates,
                              std::uint8_t dimension) {
    for (std::size_t axis = 0; axis + dimension < 3; ++axis)
        if (coordinates[axis].empty())
            coordinates[axis] = {0.0};
    state_->description.mesh(std::move(name), elements, dimension,
                             RectilinearCoords{elements.lower, std::move(coordinates)});
}

void Writer::curvilinear_mesh(std::string name, const Box& elements, std::string field,
                              ScalarType type, std::uint8_t dimension) {
    state_->description.mesh(name, elements, dimension, ExplicitCoords{field});
    state_->description.field(std::move(field), name, Association::vertex, type, 3, {});
}

void Writer::field(std::string name, std::string_view mesh, Association association,
                   ScalarType type, std::uint32_t components, std::vector<Attribute> attributes) {
    state_->description.field(std::move(name), mesh, association, type, components,
                              std::move(attributes));
}

void Writer::block(std::uint64_t id, std::string_view mesh, const Box& owned,
                   Association association) {
    state_->description.block(id, mesh, owned, association);
    state_->require_table();
}

void Writer::remove_block(std::uint64_t id) { state_->description.remove_block(id); }

void Writer::begin_step(std::int64_t index, double time) {
    State& state = *state_;
    state.require_own("begin_step");
    require(!state.closed, "The stream ", quote(state.name), " is closed: no step can begin.");
    require(!state.publishing, "Step ", state.index,
            " is being published: no other can begin inside the work on it.");
    require(!state.step_open, "Step ", state.index,
            " is open: end_step is missing before begin_step.");
    require(std::isfinite(time), "The time of step ", index, " is not finite (",
            std::to_string(time), ").");
    state.step_open = true;
    state.index = index;
    state.time = time;
}

void Writer::put(std::string_view field, std::uint64_t block, const ConstArrayView& values,
                 const Ghosts& ghosts) {
    state_->require_open_step("put");
    state_->description.put(field, block, values, ghosts);
    state_->require_table();
}

void Writer::put(std::string_view field, std::uint64_t block, const void* values,
                 const Ghosts& ghosts) {
    state_->require_open_step("put");
    ConstArrayView view = state_->description.shape(field, block, ghosts);
    view.data = static_cast<const std::byte*>(values);
    state_->description.put(field, block, view, ghosts);
    state_->require_table();
}

ArrayView Writer::buffer(std::string_view field, std::uint64_t block, const Ghosts& ghosts) {
    State& state = *state_;
    state.require_open_step("buffer");
    ConstArrayView values = state.description.shape(field, block, ghosts);
    state.description.require_no_values(field, block);
    const auto bytes = static_cast<std::size_t>(values.bytes());
    std::span<std::byte> memory = state.engine->buffer(bytes);
    if (memory.size() < bytes)
        memory = state.pool.take(bytes);
    values.data = memory.data();
    state.description.put(field, block, values, ghosts);
    return {memory.data(), values.count, values.layout, values.components, values.scalar_bytes};
}

std::optional<std::uint64_t> Writer::end_step() {
    State& state = *state_;
    state.require_own("end_step");
    LocalStep step;
    const std::exception_ptr error = exception_of([&] {
        state.require_open_step("end_step");
        step = state.description.step(state.index, state.time);
    });
    require(!state.publishing, "end_step was called inside the work on a step.");
    state.step_open = false;
    state.publishing = true;
    struct Over { // also when the engine throws
        State& state;
        ~Over() { state.finish_step(); }
    } over{state};
    // Before the engine, which requires a step on every rank.
    bool has_values = false;
    try {
        has_values = state.agree_on_step(error);
    } catch (const DeferredError& reason) {
        state.engine->discard_buffers();
        state.warn(state.step_warned,
                   "A step is not published, and the program continues: ", reason.what());
        return std::nullopt;
    } catch (...) {
        state.engine->discard_buffers();
        throw;
    }
    if (!has_values && state.description.has_fields() && state.group.rank() == 0 &&
        !std::exchange(state.empty_noticed, true))
        notice(sentence("Step ", state.index, " of the stream ", quote(state.name),
                        " has no values: nothing was put into it on any rank."));
    std::optional<std::uint64_t> sequence;
    state.run_engine([&] { sequence = state.engine->publish(std::move(step)); });
    return sequence;
}

void Writer::cancel_step(std::string_view reason) {
    State& state = *state_;
    if (!state.process.here())
        return;
    require(!state.publishing, "cancel_step was called inside the work on a step.");
    const auto misuse = exception_of([&] { state.require_open_step("cancel_step"); });
    const std::string text =
        sentence("Step ", state.index, " was cancelled on rank ", state.group.rank(), ": ", reason,
                 reason.ends_with('.') ? "" : ".");
    try {
        state.deferred = nullptr;
        (void)state.agree_on_step(misuse ? misuse : std::make_exception_ptr(StagingError(text)));
    } catch (const StagingError&) {
        // It is this rank's own error.
    }
    state.engine->discard_buffers();
    state.finish_step();
    if (misuse)
        std::rethrow_exception(misuse);
}

void Writer::close() {
    State& state = *state_;
    if (state.closed || !state.process.here())
        return;
    state.group.run_collectively([&] {
        require(!state.step_open, "Step ", state.index,
                " is open: end_step is missing before close.");
    });
    state.closed = true;
    state.run_engine([&] {
        if (state.in_situ && !state.ended)
            state.group.run_collectively([&] { state.in_situ->finish(); });
        state.engine->close();
    });
}

bool Writer::defer_error(const std::string& text) {
    if (state_->tolerant && !state_->deferred)
        state_->deferred = std::make_exception_ptr(StagingError(text));
    return state_->tolerant;
}

void Writer::abandon(std::string_view reason) {
    if (!state_->process.here() || state_->closed)
        return;
    state_->abort(reason.empty() ? "it has abandoned the stream." : reason);
    state_->closed = true;
    state_->engine->abandon();
}

QueueCounters Writer::counters() const { return state_->engine->counters(); }

const std::string& Writer::name() const { return state_->name; }

std::vector<ReceivedCommand> Writer::take_commands() {
    if (state_->closed || !state_->process.here())
        return {};
    return state_->engine->take_commands();
}

void Writer::reply(std::uint64_t reader, std::uint64_t number, std::string text) {
    require(text.size() <= Reply::max_text, "A reply has at most ", Reply::max_text,
            " bytes; this one has ", text.size(), ".");
    if (!state_->closed && state_->process.here())
        state_->engine->reply(reader, {number, std::move(text)});
}

void Writer::on_step(std::function<void(Reader&)> work) {
    state_->engine->on_step(std::move(work));
}

} // namespace uzushio::staging
