#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/step_info.hpp"
#include "staging/queue/queue_counters.hpp"

namespace uzushio::staging {

class Reader;

/// What one rank puts into a step, still where the solver has it.
struct LocalStep {
    StepInfo part; ///< this rank's blocks; offsets and checksums are the engine's to set
    /// The values of every array with its ghost layers, in the table's order: block by block, array
    /// by array. Layouts in the table are those of these views.
    std::vector<ConstArrayView> values;
};

/// Carries the steps of one rank of a writer to readers: what differs between engines. Members are
/// collective over the writer's ranks unless they say otherwise, and throw the same on all.
class WriterEngine {
  public:
    virtual ~WriterEngine() =
        default; ///< stops at once, without waiting for readers; not collective

    /// Memory that the next `publish` takes over without a copy, aligned to 64 bytes; empty if the
    /// engine has none now, and the caller is to use its own. Not collective. Valid until
    /// `publish`.
    [[nodiscard]] virtual std::span<std::byte> buffer([[maybe_unused]] std::size_t bytes) {
        return {};
    }
    /// The step that memory was asked for is given up: `buffer` begins anew. Not collective.
    virtual void take_back_buffers() {}
    /// Publish a step. Returns its sequence number, or nothing if it was dropped. All values may be
    /// overwritten afterwards.
    virtual std::optional<std::uint64_t> publish(LocalStep step) = 0;
    /// Stop at once, as the destructor does, but keep the memory that `buffer` gave. Not
    /// collective; nothing but `counters` may be called afterwards.
    virtual void abandon() {}
    /// Give readers what is left, as long as the options say, and end the stream.
    virtual void close() = 0;
    /// Whole on rank 0; elsewhere what is known there. Not collective.
    [[nodiscard]] virtual QueueCounters counters() const = 0;

    /// Run `work` inside each `publish`, on the solver's own arrays. Throws StagingError unless the
    /// engine is `inproc`.
    virtual void on_step(std::function<void(Reader&)> work);
};

} // namespace uzushio::staging
