#pragma once

#include <cstdint>
#include <memory>

#include "staging/datamodel/step_info.hpp"
#include "staging/queue/segment.hpp"

namespace uzushio::staging {

/// What one rank holds of a step that was published.
struct HeldStep {
    std::uint64_t sequence = 0;
    std::shared_ptr<const StepInfo> part; ///< this rank's blocks alone
    std::uint32_t first_block = 0;        ///< of the part, in the table of the whole step
    std::shared_ptr<Segment> segment;     ///< where its arrays lie
};

} // namespace uzushio::staging
