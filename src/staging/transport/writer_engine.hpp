#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "staging/command.hpp"
#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/step_info.hpp"
#include "staging/queue/queue_counters.hpp"
#include "staging/wire/decode_limits.hpp"

namespace uzushio::staging {

class Reader;

/// One rank's part of a step, still in the solver's memory.
struct LocalStep {
    StepInfo part; ///< this rank's blocks; the engine sets offsets and checksums
    /// Values of every array with its ghost layers, in the table's order: block by block, array by
    /// array. Layouts in the table are those of these views.
    std::vector<ConstArrayView> values;
};

/// Interface of the writer's side of an engine on one rank. Members are collective over the
/// writer's ranks unless stated otherwise, and throw the same on all ranks.
class WriterEngine {
  public:
    virtual ~WriterEngine() =
        default; ///< stops at once, without waiting for readers; not collective

    /// Return memory that the next `publish` takes without a copy, aligned to 64 bytes. Empty if
    /// the engine has none; the caller then uses its own memory. Not collective. Valid until
    /// `publish`.
    [[nodiscard]] virtual std::span<std::byte> buffer([[maybe_unused]] std::size_t bytes) {
        return {};
    }
    /// Discard the buffers of the current step. Not collective.
    virtual void discard_buffers() {}
    /// Return the maximum bytes of the table of a step.
    [[nodiscard]] virtual std::size_t max_table_bytes() const {
        return DecodeLimits{}.message_bytes;
    }
    /// Publish a step. Returns its sequence number, or nothing if it was dropped. All values may be
    /// overwritten afterwards.
    virtual std::optional<std::uint64_t> publish(LocalStep step) = 0;
    /// Stop at once, as the destructor does, but keep the memory of `buffer`. Not collective; only
    /// `counters` may be called afterwards.
    virtual void abandon() {}
    /// Deliver the remaining steps within the configured limit, and end the stream.
    virtual void close() = 0;
    /// Return the counters: complete on rank 0, this rank's elsewhere. Not collective.
    [[nodiscard]] virtual QueueCounters counters() const = 0;

    /// Return the commands of readers since the last call, in the order of their arrival; not
    /// collective: on rank 0, empty elsewhere.
    [[nodiscard]] virtual std::vector<ReceivedCommand> take_commands() { return {}; }
    /// Reply to a command of a reader; on rank 0, not collective.
    virtual void reply([[maybe_unused]] std::uint64_t reader, [[maybe_unused]] Reply reply) {}

    /// Run `work` inside each `publish`, on the solver's own arrays. Throws StagingError unless the
    /// engine is `inproc`.
    virtual void on_step(std::function<void(Reader&)> work);
};

} // namespace uzushio::staging
