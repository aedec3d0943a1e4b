#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "staging/datamodel/array_view.hpp"
#include "staging/queue/delivery.hpp"
#include "staging/staging_error.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// Requested piece and its destination.
struct Fetch {
    std::uint32_t rank = 0;
    PieceRequest request;
    ArrayView to; ///< of the shape of the request's source, all requested components
};

/// Result of a wait for a step, with the bytes of the whole Announce message if there is one.
struct AnnouncedStep {
    StepStatus status = StepStatus::timeout;
    std::shared_ptr<const std::vector<std::byte>> message;
};

/// Step that is stored on disk.
struct StoredStep {
    std::uint64_t sequence = 0;
    std::int64_t index = 0; ///< the solver's number of the step
    double time = 0;
};

/// Interface of the reader's side of an engine. Throws PeerGone, PeerSilent and other
/// StagingErrors; the Reader makes all ranks throw.
class StepSource {
  public:
    virtual ~StepSource() = default; ///< detaches

    /// Return whether `next` is called on all ranks of the group at once; rank 0's result is used.
    [[nodiscard]] virtual bool collective() const { return false; }
    /// Wait for the next step. Called on the group's rank 0 only, unless `collective`.
    [[nodiscard]] virtual AnnouncedStep next(std::chrono::nanoseconds limit) = 0;
    /// Continue with the first stored step whose number is `sequence` or larger. By default throws
    /// StagingError: only stored steps can be chosen.
    virtual void seek([[maybe_unused]] std::uint64_t sequence) {
        throw StagingError("Steps of a running stream cannot be chosen: read them as they come, or "
                           "attach to stored steps.");
    }
    /// Return the stored steps in order; nothing for a running stream. Called on the group's rank 0
    /// only.
    [[nodiscard]] virtual std::optional<std::vector<StoredStep>> stored_steps() { return {}; }
    /// Start a step on all ranks, as rank 0 received it. Valid until `end`.
    virtual void begin([[maybe_unused]] const Announce& step) {}
    /// Return the step that is in progress without `next`, inside the solver's own step; else null.
    [[nodiscard]] virtual std::shared_ptr<const Announce> current() const { return nullptr; }

    /// Called in every read before values move, with this rank's error so far. Throws that error;
    /// where reads are collective, all ranks throw if any has an error.
    virtual void check(const std::exception_ptr& error) {
        if (error)
            std::rethrow_exception(error);
    }
    /// Fetch pieces of the step. Also called with no pieces, because other ranks may have some.
    virtual void fetch(const Announce& step, std::span<const Fetch> wanted,
                       std::chrono::nanoseconds limit) = 0;
    /// Return the memory of a writer's rank if it is mapped in this process, else nothing. Valid
    /// until `end`.
    [[nodiscard]] virtual std::span<const std::byte> segment([[maybe_unused]] const Announce& step,
                                                             [[maybe_unused]] std::uint32_t rank) {
        return {};
    }
    /// Return an array that is mapped in this process; by default, a part of its rank's segment.
    /// Throws ModelError if the array is not wholly inside it.
    [[nodiscard]] virtual std::optional<ConstArrayView>
    view(const Announce& step, std::uint32_t block, std::uint32_t array) {
        const Block& holder = step.step.blocks[block];
        const auto memory = segment(step, holder.rank);
        if (memory.data() == nullptr)
            return std::nullopt;
        return view_of(step.step, holder, holder.arrays[array], memory);
    }
    /// End this rank's use of the step.
    virtual void end([[maybe_unused]] const Announce& step) {}
    /// Send a command to the writing program. Called on the group's rank 0 only. Throws
    /// StagingError if the engine cannot.
    virtual void send([[maybe_unused]] const Command& command) {
        throw StagingError("Streams of this engine take no commands: the engines shm, tcp and mpi "
                           "do.");
    }
    /// Return the replies that `next` has received. Called on the group's rank 0 only.
    [[nodiscard]] virtual std::vector<Reply> take_replies() { return {}; }
    /// Release the step for all ranks. Called on the group's rank 0 only.
    virtual void release(std::uint64_t sequence) = 0;
};

} // namespace uzushio::staging
