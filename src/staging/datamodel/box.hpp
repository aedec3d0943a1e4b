#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace uzushio::staging {

/// One number per axis, in C order: z, y, x. The last axis is contiguous.
using Extent = std::array<std::int64_t, 3>;

/// Rectangular set of indices, `start[a] <= i[a] < start[a] + count[a]`, axes in the order z, y, x.
/// Starts may be negative: ghost layers lie outside the domain.
struct Box {
    Extent start{};
    Extent count{};

    [[nodiscard]] constexpr std::int64_t end(std::size_t axis) const {
        return start[axis] + count[axis];
    }
    [[nodiscard]] constexpr bool empty() const {
        return count[0] <= 0 || count[1] <= 0 || count[2] <= 0;
    }
    /// Number of indices. Does not overflow if the box is `is_valid`.
    [[nodiscard]] constexpr std::int64_t volume() const {
        return empty() ? 0 : count[0] * count[1] * count[2];
    }
    [[nodiscard]] constexpr bool contains(const Box& other) const {
        if (other.empty())
            return true;
        for (std::size_t a = 0; a < 3; ++a)
            if (other.start[a] < start[a] || other.end(a) > end(a))
                return false;
        return true;
    }
    bool operator==(const Box&) const = default;
};

/// Return the intersection; counts are zero if it is empty.
[[nodiscard]] constexpr Box intersect(const Box& a, const Box& b) {
    Box box;
    for (std::size_t i = 0; i < 3; ++i) {
        box.start[i] = std::max(a.start[i], b.start[i]);
        box.count[i] = std::max<std::int64_t>(0, std::min(a.end(i), b.end(i)) - box.start[i]);
    }
    if (box.empty())
        box.count = {};
    return box;
}

[[nodiscard]] constexpr bool overlap(const Box& a, const Box& b) {
    for (std::size_t i = 0; i < 3; ++i)
        if (a.start[i] >= b.end(i) || b.start[i] >= a.end(i) || a.count[i] <= 0 || b.count[i] <= 0)
            return false;
    return true;
}

/// Return the box with indices relative to `origin`.
[[nodiscard]] constexpr Box relative_to(Box box, const Extent& origin) {
    for (std::size_t i = 0; i < 3; ++i)
        box.start[i] -= origin[i];
    return box;
}

/// Return whether arithmetic on the box, with ghosts and bytes, fits into 64 bits: counts from 0 to
/// 2^40, starts within +-2^60, at most 2^56 indices.
[[nodiscard]] constexpr bool is_valid(const Box& box) {
    constexpr std::int64_t max_count = std::int64_t{1} << 40;
    constexpr std::int64_t max_start = std::int64_t{1} << 60;
    constexpr std::int64_t max_indices = std::int64_t{1} << 56;
    std::int64_t volume = 1;
    for (std::size_t i = 0; i < 3; ++i) {
        if (box.count[i] < 0 || box.count[i] > max_count || box.start[i] < -max_start ||
            box.start[i] > max_start)
            return false;
        if (box.count[i] != 0 && volume > max_indices / box.count[i])
            return false;
        volume *= std::max<std::int64_t>(1, box.count[i]);
    }
    return true;
}

/// "[0:4, 0:8, 2:6]", half-open ranges along z, y, x; under FortranMessageScope "(3:6, 1:8, 1:4)",
/// of the `dimension` axes in use, counted from x.
[[nodiscard]] std::string to_string(const Box& box, int dimension = 3);

/// "4 x 8 x 2 (along z, y, x)"; under FortranMessageScope "2 x 8 x 4 (along x, y, z)".
[[nodiscard]] std::string counts_text(const Extent& count, int dimension = 3);

/// Scope in which messages of this thread have Fortran's axes and indices: x, y, z, counted from 1,
/// with inclusive ends.
class FortranMessageScope {
  public:
    FortranMessageScope();
    FortranMessageScope(const FortranMessageScope&) = delete;
    FortranMessageScope& operator=(const FortranMessageScope&) = delete;
    ~FortranMessageScope();

  private:
    bool outer_;
};

} // namespace uzushio::staging
