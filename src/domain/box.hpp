#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "domain/index.hpp"

namespace uzushio::domain {

/// Rectangular set of indices, half-open: `lower[a] <= i[a] < upper[a]`. Bounds may be negative:
/// ghost layers lie outside the domain. A box knows no order of axes and no layout of memory.
template <std::size_t N> struct Box {
    Index<N> lower{};
    Index<N> upper{};

    /// The box that begins at the origin.
    static constexpr Box of(const Index<N>& extents) { return {{}, extents}; }

    [[nodiscard]] constexpr std::int64_t extent(std::size_t axis) const {
        return upper[axis] - lower[axis];
    }
    [[nodiscard]] constexpr Index<N> extents() const {
        Index<N> result{};
        for (std::size_t a = 0; a < N; ++a)
            result[a] = extent(a);
        return result;
    }
    [[nodiscard]] constexpr bool empty() const {
        for (std::size_t a = 0; a < N; ++a)
            if (upper[a] <= lower[a])
                return true;
        return false;
    }
    /// Number of indices.
    [[nodiscard]] constexpr std::int64_t volume() const {
        if (empty())
            return 0;
        std::int64_t product = 1;
        for (std::size_t a = 0; a < N; ++a)
            product *= extent(a);
        return product;
    }
    [[nodiscard]] constexpr bool contains(const Index<N>& index) const {
        for (std::size_t a = 0; a < N; ++a)
            if (index[a] < lower[a] || index[a] >= upper[a])
                return false;
        return true;
    }
    [[nodiscard]] constexpr bool contains(const Box& other) const {
        if (other.empty())
            return true;
        for (std::size_t a = 0; a < N; ++a)
            if (other.lower[a] < lower[a] || other.upper[a] > upper[a])
                return false;
        return true;
    }

    /// The box with `layers[a]` more indices at both ends of each axis; fewer where negative.
    [[nodiscard]] constexpr Box grown(const Index<N>& layers) const {
        Box box = *this;
        for (std::size_t a = 0; a < N; ++a) {
            box.lower[a] -= layers[a];
            box.upper[a] += layers[a];
        }
        return box;
    }
    [[nodiscard]] constexpr Box grown(std::int64_t layers) const {
        Index<N> all{};
        all.fill(layers);
        return grown(all);
    }
    [[nodiscard]] constexpr Box shifted(const Index<N>& by) const {
        Box box = *this;
        for (std::size_t a = 0; a < N; ++a) {
            box.lower[a] += by[a];
            box.upper[a] += by[a];
        }
        return box;
    }
    /// The part below `at` along `axis`, and the part from `at` on. Either may be empty.
    [[nodiscard]] constexpr std::pair<Box, Box> split(std::size_t axis, std::int64_t at) const {
        at = std::clamp(at, lower[axis], std::max(lower[axis], upper[axis]));
        std::pair<Box, Box> parts{*this, *this};
        parts.first.upper[axis] = at;
        parts.second.lower[axis] = at;
        return parts;
    }

    bool operator==(const Box&) const = default;
};

/// Common part; empty, with upper bounds equal to its lower ones, where there is none.
template <std::size_t N>
[[nodiscard]] constexpr Box<N> intersect(const Box<N>& a, const Box<N>& b) {
    Box<N> box;
    for (std::size_t i = 0; i < N; ++i) {
        box.lower[i] = std::max(a.lower[i], b.lower[i]);
        box.upper[i] = std::min(a.upper[i], b.upper[i]);
    }
    if (box.empty())
        box.upper = box.lower;
    return box;
}

/// Whether two boxes have an index in common.
template <std::size_t N> [[nodiscard]] constexpr bool overlap(const Box<N>& a, const Box<N>& b) {
    for (std::size_t i = 0; i < N; ++i)
        if (std::max(a.lower[i], b.lower[i]) >= std::min(a.upper[i], b.upper[i]))
            return false;
    return true;
}

/// Smallest box that holds both; an empty box counts for nothing.
template <std::size_t N> [[nodiscard]] constexpr Box<N> bounding(const Box<N>& a, const Box<N>& b) {
    if (a.empty() || b.empty())
        return a.empty() ? b : a;
    Box<N> box;
    for (std::size_t i = 0; i < N; ++i) {
        box.lower[i] = std::min(a.lower[i], b.lower[i]);
        box.upper[i] = std::max(a.upper[i], b.upper[i]);
    }
    return box;
}

/// "[0:4, 0:8, 2:6]", half-open ranges in the order of the axes.
template <std::size_t N> [[nodiscard]] std::string to_string(const Box<N>& box) {
    std::string text;
    for (std::size_t a = 0; a < N; ++a) {
        text.append(a > 0 ? ", " : "[").append(std::to_string(box.lower[a]));
        text.append(":").append(std::to_string(box.upper[a]));
    }
    return text.append("]");
}

} // namespace uzushio::domain
