#include "staging/datamodel/box_set.hpp"

#include <algorithm>
#include <tuple>

namespace uzushio::staging {
namespace {

/// Append the difference of `box` and `hole`, which overlaps it, as slabs below and above along z,
/// then y, then x.
void cut(Box box, const Box& hole, BoxSet& rest) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (box.start[axis] < hole.start[axis]) {
            Box below = box;
            below.count[axis] = hole.start[axis] - box.start[axis];
            rest.push_back(below);
            box.count[axis] -= below.count[axis];
            box.start[axis] = hole.start[axis];
        }
        if (box.end(axis) > hole.end(axis)) {
            Box above = box;
            above.start[axis] = hole.end(axis);
            above.count[axis] = box.end(axis) - hole.end(axis);
            rest.push_back(above);
            box.count[axis] -= above.count[axis];
        }
    }
}

void find_holes(const Box& region, const BoxSet& candidates, BoxSet& found,
                std::size_t& comparisons) {
    BoxSet inside;
    std::int64_t covered = 0;
    comparisons += candidates.size();
    for (const Box& box : candidates)
        if (overlap(box, region)) {
            inside.push_back(intersect(box, region));
            covered += inside.back().volume();
        }
    if (covered == region.volume()) // disjoint boxes cover all
        return;
    constexpr std::size_t few = 16;
    if (inside.size() <= few) {
        BoxSet rest{region};
        for (const Box& box : inside) {
            comparisons += rest.size();
            subtract(rest, box);
        }
        found.insert(found.end(), rest.begin(), rest.end());
        return;
    }
    const auto longest = std::max_element(region.count.begin(), region.count.end());
    const auto axis = static_cast<std::size_t>(longest - region.count.begin());
    Box lower = region, upper = region;
    lower.count[axis] = region.count[axis] / 2;
    upper.start[axis] += lower.count[axis];
    upper.count[axis] -= lower.count[axis];
    find_holes(lower, inside, found, comparisons);
    find_holes(upper, inside, found, comparisons);
}

bool coalesce_along(BoxSet& set, std::size_t axis) {
    const std::size_t b = (axis + 1) % 3, c = (axis + 2) % 3;
    const auto key = [&](const Box& box) {
        return std::tuple(box.start[b], box.start[c], box.count[b], box.count[c], box.start[axis]);
    };
    std::sort(set.begin(), set.end(), [&](const Box& p, const Box& q) { return key(p) < key(q); });
    BoxSet joined;
    for (const Box& box : set) {
        if (!joined.empty()) {
            Box& last = joined.back();
            if (last.start[b] == box.start[b] && last.start[c] == box.start[c] &&
                last.count[b] == box.count[b] && last.count[c] == box.count[c] &&
                last.end(axis) == box.start[axis]) {
                last.count[axis] += box.count[axis];
                continue;
            }
        }
        joined.push_back(box);
    }
    const bool changed = joined.size() != set.size();
    set = std::move(joined);
    return changed;
}

} // namespace

void subtract(BoxSet& set, const Box& box) {
    BoxSet rest;
    for (std::size_t i = 0; i < set.size();) {
        if (!overlap(set[i], box)) {
            ++i;
            continue;
        }
        cut(set[i], intersect(set[i], box), rest);
        set[i] = set.back();
        set.pop_back();
    }
    set.insert(set.end(), rest.begin(), rest.end());
}

BoxSet holes(const Box& region, const BoxSet& covered, std::size_t& comparisons) {
    BoxSet found;
    if (!region.empty())
        find_holes(region, covered, found, comparisons);
    coalesce(found);
    return found;
}

void coalesce(BoxSet& set) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (const std::size_t axis : {2u, 1u, 0u})
            changed |= coalesce_along(set, axis);
    }
}

} // namespace uzushio::staging
