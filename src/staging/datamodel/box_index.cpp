#include "staging/datamodel/box_index.hpp"

#include <algorithm>

namespace uzushio::staging {
namespace {

constexpr std::uint32_t leaf_size = 4;

Box bounding_box(const Box& a, const Box& b) {
    Box box;
    for (std::size_t i = 0; i < 3; ++i) {
        box.start[i] = std::min(a.start[i], b.start[i]);
        box.count[i] = std::max(a.end(i), b.end(i)) - box.start[i];
    }
    return box;
}

} // namespace

BoxIndex::BoxIndex(std::span<const Box> boxes) : boxes_(boxes.begin(), boxes.end()) {
    for (std::size_t i = 0; i < boxes_.size(); ++i)
        if (!boxes_[i].empty())
            order_.push_back(static_cast<std::uint32_t>(i));
    if (!order_.empty())
        build(0, static_cast<std::uint32_t>(order_.size()));
}

void BoxIndex::build(std::uint32_t begin, std::uint32_t end) {
    const std::size_t self = nodes_.size();
    nodes_.emplace_back();
    Box bounds = boxes_[order_[begin]];
    for (std::uint32_t i = begin + 1; i < end; ++i)
        bounds = bounding_box(bounds, boxes_[order_[i]]);
    nodes_[self].bounds = bounds;
    if (end - begin <= leaf_size) {
        nodes_[self].begin = begin;
        nodes_[self].end = end;
        return;
    }
    const auto longest = std::max_element(bounds.count.begin(), bounds.count.end());
    const auto axis = static_cast<std::size_t>(longest - bounds.count.begin());
    const std::uint32_t middle = begin + (end - begin) / 2;
    std::nth_element(order_.begin() + begin, order_.begin() + middle, order_.begin() + end,
                     [&](std::uint32_t a, std::uint32_t b) {
                         return boxes_[a].start[axis] + boxes_[a].end(axis) <
                                boxes_[b].start[axis] + boxes_[b].end(axis);
                     });
    build(begin, middle);
    nodes_[self].right = static_cast<std::uint32_t>(nodes_.size());
    build(middle, end);
}

std::size_t BoxIndex::find(const Box& box, std::vector<std::uint32_t>& found) const {
    if (nodes_.empty())
        return 0;
    std::size_t comparisons = 0;
    std::uint32_t stack[64]; // 2^32 boxes give a depth of 32
    std::size_t depth = 0;
    stack[depth++] = 0;
    while (depth > 0) {
        const std::uint32_t self = stack[--depth];
        const Node& node = nodes_[self];
        ++comparisons;
        if (!overlap(node.bounds, box))
            continue;
        if (node.right != 0) {
            stack[depth++] = node.right;
            stack[depth++] = self + 1;
            continue;
        }
        comparisons += node.end - node.begin;
        for (std::uint32_t i = node.begin; i < node.end; ++i)
            if (overlap(boxes_[order_[i]], box))
                found.push_back(order_[i]);
    }
    return comparisons;
}

} // namespace uzushio::staging
