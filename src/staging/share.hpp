#pragma once

#include <cstdint>
#include <vector>

#include "staging/datamodel/box.hpp"
#include "staging/datamodel/step_info.hpp"

namespace uzushio::staging {

/// Part `index` of `box` divided among `parts` readers: the parts cover it once, differ by at most
/// one layer along each axis, and have as little surface as whole numbers allow. Empty where there
/// are more readers than the axes can be cut for.
[[nodiscard]] Box share(const Box& box, std::int64_t parts, std::int64_t index);

/// Which blocks of a topology each of `readers` takes if they take whole ones: runs of the table
/// with about equal numbers of vertices, each block once.
[[nodiscard]] std::vector<std::vector<std::uint32_t>>
share_blocks(const StepInfo& step, std::uint32_t topology, std::uint32_t readers);

} // namespace uzushio::staging
