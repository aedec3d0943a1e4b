#pragma once

#include "staging/datamodel/step_info.hpp"

namespace uzushio::staging {

/// Whether plans made for one step hold for the other: the same fields on the same blocks of the
/// same ranks, with the same ghost layers. Where arrays lie in memory, and texts, may differ.
[[nodiscard]] bool same_structure(const StepInfo& a, const StepInfo& b);

} // namespace uzushio::staging
