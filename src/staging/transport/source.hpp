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
#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// A piece that a reader wants, and where to.
struct Fetch {
    std::uint32_t rank = 0;
    PieceRequest request;
    ArrayView to; ///< of the shape of the request's source, all requested components
};

/// What a wait for a step brought: the bytes of a whole Announce message if there is one.
struct Announced {
    Arrival arrival = Arrival::timeout;
    std::shared_ptr<const std::vector<std::byte>> message;
};

/// Where a reader's rank gets steps from: what differs between engines. Throws PeerGone, PeerSilent
/// and other StagingErrors; the Reader sees to it that all ranks do.
class Source {
  public:
    virtual ~Source() = default; ///< detaches

    /// Whether `next` is called on all ranks of the group, at once; rank 0's result counts.
    [[nodiscard]] virtual bool collective() const { return false; }
    /// Wait for the next step. Called on the group's rank 0 alone, unless `collective`.
    [[nodiscard]] virtual Announced next(std::chrono::nanoseconds limit) = 0;
    /// All ranks now have this step, as rank 0 got it, until `end`.
    virtual void begin([[maybe_unused]] const Announce& step) {}
    /// The step that all ranks stand at without `next`, inside the solver's own; else null.
    [[nodiscard]] virtual std::shared_ptr<const Announce> here() const { return nullptr; }

    /// Called in every read before values move, with what went wrong on this rank so far. Throws
    /// that; where reads are collective, all ranks throw if any has an error.
    virtual void check(const std::exception_ptr& error) {
        if (error)
            std::rethrow_exception(error);
    }
    /// Bring pieces of it. Also called where nothing is wanted, if other ranks may want something.
    virtual void fetch(const Announce& step, std::span<const Fetch> wanted,
                       std::chrono::nanoseconds limit) = 0;
    /// The memory of a writer's rank, if it can be looked at where it is; else nothing. Valid until
    /// `end`.
    [[nodiscard]] virtual std::span<const std::byte> segment([[maybe_unused]] const Announce& step,
                                                             [[maybe_unused]] std::uint32_t rank) {
        return {};
    }
    /// An array that can be looked at where it is: by default, if its rank's segment can. Throws
    /// ModelError if it does not lie wholly in there.
    [[nodiscard]] virtual std::optional<ConstArrayView>
    view(const Announce& step, std::uint32_t block, std::uint32_t array) {
        const Block& holder = step.step.blocks[block];
        const auto memory = segment(step, holder.rank);
        if (memory.data() == nullptr)
            return std::nullopt;
        return view_of(step.step, holder, holder.arrays[array], memory);
    }
    /// This rank is done with the step.
    virtual void end([[maybe_unused]] const Announce& step) {}
    /// All ranks are done with it. Called on the group's rank 0 alone.
    virtual void release(std::uint64_t sequence) = 0;
};

} // namespace uzushio::staging
