#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/datamodel/read_planner.hpp"
#include "staging/exception_of.hpp"
#include "staging/process_identity.hpp"
#include "staging/reader.hpp"
#include "staging/transport/step_source.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// State of a Reader: its source, the current step and the read plans for it.
struct Reader::State {
    using Step = std::shared_ptr<const Announce>;
    /// Collective member that a rank has called.
    enum class Command : std::uint8_t { next, release, detach };
    /// Result of rank 0's wait for a step, as broadcast: a StepStatus, or an error.
    enum class Event : std::uint8_t { step, timeout, ended, detached, error };
    static_assert(static_cast<int>(Event::detached) == static_cast<int>(StepStatus::detached));

    State(MPI_Comm comm, const ReaderOptions& reader_options);

    void require_own_process() const;
    [[nodiscard]] Step current_step() const;
    [[nodiscard]] const Announce& announce();
    [[nodiscard]] std::uint32_t field_of(std::string_view name);
    [[nodiscard]] const ReadPlanner& planner(std::uint32_t field);
    /// Return the indices of a field and of its array on a block; throws if there are none.
    [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> field_and_array(std::string_view name,
                                                                          std::uint32_t block);
    void require_shape(std::uint32_t field, const Box& box, const ArrayView& to);
    /// Copy the pieces of a plan that are visible in memory; append the others to `fetches`.
    void copy_visible(const ReadPlan& plan, const ArrayView& to, std::vector<Fetch>& fetches);
    void fetch(std::span<const Fetch> fetches);
    /// Run a read, and keep its error.
    template <class Read> auto run_read(Read&& read) {
        require_own_process();
        try {
            return read();
        } catch (...) {
            read_error = std::current_exception();
            throw;
        }
    }
    /// Prepare a read; where reads are collective, all ranks throw if any does.
    template <class Prepare> void check_on_all(Prepare&& prepare) {
        const std::exception_ptr error = exception_of(prepare);
        if (error && !source)
            std::rethrow_exception(error);
        source->check(error);
    }
    /// Begin a collective member: throws on all ranks if they have called different ones, or if a
    /// rank keeps the step.
    void agree_on_command(Command command);
    /// End the current step on all ranks; throws on all.
    void end_step();
    [[nodiscard]] StepStatus handle_event(Event event, std::span<const std::byte> message);
    /// Whether other ranks may wait for this one.
    [[nodiscard]] bool others_may_wait() const {
        return source && !detached && !ended && source->current() == nullptr && process.here();
    }

    ProcessIdentity process;
    parallel::CollectiveGroup group;
    ReaderOptions options;
    std::unique_ptr<StepSource> source; ///< null once detached; may use the group
    Step current;                       ///< set by `next`
    Step planned;                       ///< step of the planners
    std::vector<std::optional<ReadPlanner>> planners;
    std::optional<std::string> keep_reason; ///< why the step must not be released
    std::exception_ptr read_error;          ///< of the current step's reads, the last one
    std::uint64_t commands = 0;             ///< sent by this rank
    bool ended = false;
    bool detached = false; ///< on all ranks
};

} // namespace uzushio::staging
