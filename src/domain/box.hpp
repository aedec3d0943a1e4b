#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "domain/index.hpp"

namespace uzushio::domain {

/// Rectangular set of indices, half-open: `lower[a] <= i[a] < upper[a]`. Bounds may be negative:
/// ghost layers are outside the domain. Boxes with different orders of axes are different types.
template <std::size_t N, AxisOrder order = AxisOrder::xyz> struct Box {
    Index<N> lower{};
    Index<N> upper{};

    /// Return the box that begins at the origin.
    static constexpr Box of(const Index<N>& extents) { return {{}, extents}; }
    /// Return the box that begins at `lower`.
    static constexpr Box at(const Index<N>& lower, const Index<N>& extents) {
        return of(extents).shifted(lower);
    }

    [[nodiscard]] constexpr std::int64_t extent(std::size_t axis) const {
        return upper[axis] - lower[axis];
    }
    [[nodiscard]] constexpr Index<N> extents() const {
        Index<N> result{};
        for (std::size_t a = 0; a < N; ++a)
            result[a] = extent(a);
        return result;
    }
    [[nodiscard]] constexpr std::size_t longest_axis() const {
        const Index<N> all = extents();
        return static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin());
    }
    [[nodiscard]] constexpr bool empty() const {
        for (std::size_t a = 0; a < N; ++a)
            if (upper[a] <= lower[a])
                return true;
        return false;
    }
    /// Return the number of indices.
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

    /// Return the box with `layers[a]` more (if negative, fewer) indices at both ends of each axis.
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
    /// Return the same indices, counted from `origin`.
    [[nodiscard]] constexpr Box relative_to(const Index<N>& origin) const {
        Box box = *this;
        for (std::size_t a = 0; a < N; ++a) {
            box.lower[a] -= origin[a];
            box.upper[a] -= origin[a];
        }
        return box;
    }
    /// Return the part below `at` along `axis`, and the part from `at` on. Either may be empty.
    [[nodiscard]] constexpr std::pair<Box, Box> split(std::size_t axis, std::int64_t at) const {
        at = std::clamp(at, lower[axis], std::max(lower[axis], upper[axis]));
        std::pair<Box, Box> parts{*this, *this};
        parts.first.upper[axis] = at;
        parts.second.lower[axis] = at;
        return parts;
    }

    bool operator==(const Box&) const = default;
};

/// Return the common part; if there is none, an empty box with equal lower and upper bounds.
template <std::size_t N, AxisOrder order>
[[nodiscard]] constexpr Box<N, order> intersect(const Box<N, order>& a, const Box<N, order>& b) {
    Box<N, order> box;
    for (std::size_t i = 0; i < N; ++i) {
        box.lower[i] = std::max(a.lower[i], b.lower[i]);
        box.upper[i] = std::min(a.upper[i], b.upper[i]);
    }
    if (box.empty())
        box.upper = box.lower;
    return box;
}

/// Return whether two boxes have an index in common.
template <std::size_t N, AxisOrder order>
[[nodiscard]] constexpr bool overlap(const Box<N, order>& a, const Box<N, order>& b) {
    for (std::size_t i = 0; i < N; ++i)
        if (std::max(a.lower[i], b.lower[i]) >= std::min(a.upper[i], b.upper[i]))
            return false;
    return true;
}

/// Return the smallest box that contains both; empty boxes are ignored.
template <std::size_t N, AxisOrder order>
[[nodiscard]] constexpr Box<N, order> bounding(const Box<N, order>& a, const Box<N, order>& b) {
    if (a.empty() || b.empty())
        return a.empty() ? b : a;
    Box<N, order> box;
    for (std::size_t i = 0; i < N; ++i) {
        box.lower[i] = std::min(a.lower[i], b.lower[i]);
        box.upper[i] = std::max(a.upper[i], b.upper[i]);
    }
    return box;
}

/// Return the same box with its axes in the other order: the only conversion between the orders.
template <std::size_t N, AxisOrder order>
[[nodiscard]] constexpr auto with_reversed_axes(const Box<N, order>& box) {
    constexpr bool from_xyz = order == AxisOrder::xyz;
    Box<N, from_xyz ? AxisOrder::zyx : AxisOrder::xyz> reversed{box.lower, box.upper};
    std::reverse(reversed.lower.begin(), reversed.lower.end());
    std::reverse(reversed.upper.begin(), reversed.upper.end());
    return reversed;
}

/// Call `visit(index)` for all indices of a box, i fastest.
template <class Visit> void for_indices(const Box<3>& box, Visit&& visit) {
    for (std::int64_t k = box.lower[2]; k < box.upper[2]; ++k)
        for (std::int64_t j = box.lower[1]; j < box.upper[1]; ++j)
            for (std::int64_t i = box.lower[0]; i < box.upper[0]; ++i)
                visit(Index<3>{i, j, k});
}

/// Call `visit(first, size)` for the rows of a box along i, with the first index of each.
template <class Visit> void for_rows(const Box<3>& box, Visit&& visit) {
    for (std::int64_t k = box.lower[2]; k < box.upper[2]; ++k)
        for (std::int64_t j = box.lower[1]; j < box.upper[1]; ++j)
            visit(Index<3>{box.lower[0], j, k}, box.extent(0));
}

/// Return a text such as "[0:4, 0:8, 2:6]": half-open ranges in the order of the axes.
template <std::size_t N, AxisOrder order>
[[nodiscard]] std::string to_string(const Box<N, order>& box) {
    std::string text;
    for (std::size_t a = 0; a < N; ++a) {
        text.append(a > 0 ? ", " : "[").append(std::to_string(box.lower[a]));
        text.append(":").append(std::to_string(box.upper[a]));
    }
    return text.append("]");
}

} // namespace uzushio::domain
