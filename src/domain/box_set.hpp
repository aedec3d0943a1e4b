#pragma once

#include <vector>

#include "domain/box.hpp"

namespace uzushio::domain {

/// Set of indices as a list of boxes that do not overlap each other.
template <std::size_t N> using BoxSet = std::vector<Box<N>>;

/// Append `box` without `hole` to `rest`: at most two boxes an axis.
template <std::size_t N> void subtract(Box<N> box, const Box<N>& hole, BoxSet<N>& rest) {
    if (!overlap(box, hole)) {
        if (!box.empty())
            rest.push_back(box);
        return;
    }
    for (std::size_t axis = 0; axis < N; ++axis) {
        const auto [below, from] = box.split(axis, hole.lower[axis]);
        const auto [within, above] = from.split(axis, hole.upper[axis]);
        if (!below.empty())
            rest.push_back(below);
        if (!above.empty())
            rest.push_back(above);
        box = within;
    }
}

/// Remove the indices of `hole` from the set.
template <std::size_t N> void subtract(BoxSet<N>& set, const Box<N>& hole) {
    BoxSet<N> rest;
    for (const Box<N>& box : set)
        subtract(box, hole, rest);
    set = std::move(rest);
}

} // namespace uzushio::domain
