#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "staging/datamodel/step_info.hpp"
#include "staging/queue/segment.hpp"

namespace uzushio::staging {

/// One rank's part of a published step.
struct HeldStep {
    std::uint64_t sequence = 0;
    std::shared_ptr<const StepInfo> part; ///< this rank's blocks alone
    std::uint32_t first_block = 0;        ///< index of the part's first block in the whole table
    std::shared_ptr<Segment> segment;     ///< memory of its arrays
};

/// The steps that one rank holds for readers. The solver's thread adds and removes steps; the
/// engine's threads find them. A step that is being sent stays in memory after its removal.
class HeldSteps {
  public:
    void put(std::shared_ptr<const HeldStep> step);
    /// Return null if there is no such step.
    [[nodiscard]] std::shared_ptr<const HeldStep> find(std::uint64_t sequence) const;
    /// Remove all steps whose sequence number is not in `sequences`.
    void keep(std::span<const std::uint64_t> sequences);

  private:
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<const HeldStep>> steps_;
};

/// Return the values that a request names, in the memory of this rank. The request is untrusted:
/// throws ModelError. The view is valid as long as the step.
[[nodiscard]] ConstArrayView select(const HeldStep& step, std::uint32_t rank,
                                    const PieceRequest& request);

} // namespace uzushio::staging
