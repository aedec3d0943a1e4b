#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "domain/box.hpp"

namespace uzushio::domain {

/// Set of indices as a list of boxes that do not overlap each other.
template <std::size_t N, AxisOrder order = AxisOrder::xyz>
using BoxSet = std::vector<Box<N, order>>;

/// Append `box` without `hole` to `rest`: at most two boxes per axis.
template <std::size_t N, AxisOrder order>
void subtract(Box<N, order> box, const Box<N, order>& hole, BoxSet<N, order>& rest) {
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
template <std::size_t N, AxisOrder order>
void subtract(BoxSet<N, order>& set, const Box<N, order>& hole) {
    BoxSet<N, order> rest;
    for (const Box<N, order>& box : set)
        subtract(box, hole, rest);
    set = std::move(rest);
}

/// Merge boxes that are adjacent along `axis` and equal along the others. Return whether any are.
template <std::size_t N, AxisOrder order> bool coalesce(BoxSet<N, order>& set, std::size_t axis) {
    const auto across = [axis](Box<N, order> box) {
        box.lower[axis] = box.upper[axis] = 0;
        return std::tuple(box.lower, box.upper);
    };
    std::sort(set.begin(), set.end(), [&](const Box<N, order>& a, const Box<N, order>& b) {
        return std::tuple(across(a), a.lower[axis]) < std::tuple(across(b), b.lower[axis]);
    });
    BoxSet<N, order> joined;
    for (const Box<N, order>& box : set)
        if (!joined.empty() && joined.back().upper[axis] == box.lower[axis] &&
            across(joined.back()) == across(box))
            joined.back().upper[axis] = box.upper[axis];
        else
            joined.push_back(box);
    const bool changed = joined.size() != set.size();
    set = std::move(joined);
    return changed;
}

/// Merge adjacent boxes into larger ones, last axis first.
template <std::size_t N, AxisOrder order> void coalesce(BoxSet<N, order>& set) {
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t axis = N; axis-- > 0;)
            changed |= coalesce(set, axis);
    }
}

/// Append the part of `region` that is in no box of `covered`, which must not overlap each other.
/// Return the number of comparisons of boxes. Regions with many boxes are halved first.
template <std::size_t N, AxisOrder order>
std::size_t find_holes(const Box<N, order>& region, const BoxSet<N, order>& covered,
                       BoxSet<N, order>& holes) {
    constexpr std::size_t few = 16;
    BoxSet<N, order> inside;
    std::int64_t volume = 0;
    std::size_t comparisons = covered.size();
    for (const Box<N, order>& box : covered)
        if (overlap(box, region)) {
            inside.push_back(intersect(box, region));
            volume += inside.back().volume();
        }
    if (volume == region.volume())
        return comparisons;
    if (inside.size() <= few) {
        BoxSet<N, order> rest{region};
        for (const Box<N, order>& box : inside) {
            comparisons += rest.size();
            subtract(rest, box);
        }
        holes.insert(holes.end(), rest.begin(), rest.end());
        return comparisons;
    }
    const std::size_t axis = region.longest_axis();
    const auto [below, above] = region.split(axis, region.lower[axis] + region.extent(axis) / 2);
    comparisons += find_holes(below, inside, holes);
    comparisons += find_holes(above, inside, holes);
    return comparisons;
}

} // namespace uzushio::domain
