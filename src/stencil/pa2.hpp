#pragma once

#include "stencil/scheme.hpp"

namespace uzushio::stencil {

/// What each tile can compute alone first; then an exchange of the slopes, and the rest: about half
/// the redundant points of PA1 (Hoemmen's PA2).
[[nodiscard]] Plan pa2(const Tiling& tiling, const BlockKind& kind);

} // namespace uzushio::stencil
