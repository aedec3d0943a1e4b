#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace uzushio::staging {

/// One number per axis, in the order of a C array: z, y, x. The last axis is contiguous.
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
    /// Number of indices. Fits whenever the box is `is_valid`.
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

/// Common part; empty, with counts of zero, where there is none.
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

/// The same box with indices counted from `origin`.
[[nodiscard]] constexpr Box relative_to(Box box, const Extent& origin) {
    for (std::size_t i = 0; i < 3; ++i)
        box.start[i] -= origin[i];
    return box;
}

/// Whether all arithmetic on the box stays within 64 bits, with room for ghosts and bytes: counts
/// from 0 to 2^40, starts within +-2^60, at most 2^56 indices.
[[nodiscard]] constexpr bool is_valid(const Box& box) {
    constexpr std::int64_t most_counts = std::int64_t{1} << 40;
    constexpr std::int64_t most_start = std::int64_t{1} << 60;
    constexpr std::int64_t most_indices = std::int64_t{1} << 56;
    std::int64_t volume = 1;
    for (std::size_t i = 0; i < 3; ++i) {
        if (box.count[i] < 0 || box.count[i] > most_counts || box.start[i] < -most_start ||
            box.start[i] > most_start)
            return false;
        if (box.count[i] != 0 && volume > most_indices / box.count[i])
            return false;
        volume *= std::max<std::int64_t>(1, box.count[i]);
    }
    return true;
}

/// "[0:4, 0:8, 2:6]", half-open ranges along z, y, x; under FortranSentences "(3:6, 1:8, 1:4)", of
/// the `dimension` axes in use, counted from x.
[[nodiscard]] std::string to_string(const Box& box, int dimension = 3);

/// "4 x 8 x 2 (along z, y, x)"; under FortranSentences "2 x 8 x 4 (along x, y, z)".
[[nodiscard]] std::string counts_text(const Extent& count, int dimension = 3);

/// As long as it lives, sentences made by this thread have axes and indices as Fortran has them:
/// x, y, z, counted from 1, with the last index and not the one behind it.
class FortranSentences {
  public:
    FortranSentences();
    FortranSentences(const FortranSentences&) = delete;
    FortranSentences& operator=(const FortranSentences&) = delete;
    ~FortranSentences();

  private:
    bool before_;
};

} // namespace uzushio::staging
