#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "staging/queue/held_step.hpp"

namespace uzushio::staging {

/// The steps that one rank holds for readers. The solver's thread puts and takes away, the engine's
/// threads look up; a step that is being sent stays in memory, by its pointer, though it was taken
/// away meanwhile.
class HeldSteps {
  public:
    void put(std::shared_ptr<const HeldStep> step);
    /// Null if it is not there any more, or never was.
    [[nodiscard]] std::shared_ptr<const HeldStep> find(std::uint64_t sequence) const;
    /// Take away all whose sequence number is not in `sequences`.
    void keep(std::span<const std::uint64_t> sequences);

  private:
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<const HeldStep>> steps_;
};

/// The values that a request names, in the memory of this rank. Trusts the request in nothing:
/// throws ModelError. The view lives as long as the step.
[[nodiscard]] ConstArrayView select(const HeldStep& step, std::uint32_t rank,
                                    const PieceRequest& request);

} // namespace uzushio::staging
