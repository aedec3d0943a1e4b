#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace uzushio::domain {

/// One integer per axis. A mesh's axes are i, j, k, in this order; i is contiguous in memory.
template <std::size_t N> using Index = std::array<std::int64_t, N>;

/// A position or a displacement in space: x, y, z.
using Vector = std::array<double, 3>;

} // namespace uzushio::domain
