#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace uzushio::domain {

/// Order of the axes of a box: i, j, k, the first axis contiguous in memory (`xyz`), or k, j, i, as
/// arrays in C order (`zyx`).
enum class AxisOrder { xyz, zyx };

/// One integer per axis. A mesh's axes are i, j, k, in this order; i is contiguous in memory.
template <std::size_t N> using Index = std::array<std::int64_t, N>;

/// Return the index `steps` further along an axis.
template <std::size_t N>
[[nodiscard]] constexpr Index<N> moved(Index<N> index, std::size_t axis, std::int64_t steps) {
    index[axis] += steps;
    return index;
}

/// A position or a displacement in space: x, y, z.
using Vector = std::array<double, 3>;

} // namespace uzushio::domain
