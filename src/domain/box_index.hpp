#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/box.hpp"

namespace uzushio::domain {

/// Tree of bounding boxes, split at the median of the longest axis. It finds the boxes that overlap
/// a given one in a time proportional to the logarithm of their number plus the number found.
template <std::size_t N, AxisOrder order = AxisOrder::xyz> class BoxIndex {
  public:
    BoxIndex() = default;
    explicit BoxIndex(std::span<const Box<N, order>> boxes) : boxes_(boxes.begin(), boxes.end()) {
        for (std::size_t i = 0; i < boxes_.size(); ++i)
            if (!boxes_[i].empty())
                order_.push_back(static_cast<std::uint32_t>(i));
        if (!order_.empty())
            build(0, static_cast<std::uint32_t>(order_.size()));
    }

    [[nodiscard]] const std::vector<Box<N, order>>& boxes() const { return boxes_; }

    /// Return the indices of all boxes that overlap `box`, ascending.
    [[nodiscard]] std::vector<std::uint32_t> find(const Box<N, order>& box) const {
        std::vector<std::uint32_t> overlapping;
        find(box, overlapping);
        return overlapping;
    }
    /// Replace `found` by these indices. Return the number of comparisons of boxes.
    std::size_t find(const Box<N, order>& box, std::vector<std::uint32_t>& overlapping) const {
        overlapping.clear();
        if (nodes_.empty())
            return 0;
        std::size_t comparisons = 0;
        std::array<std::uint32_t, 64> open; // 2^32 boxes give a depth of 32
        std::size_t depth = 0;
        open[depth++] = 0;
        while (depth > 0) {
            const std::uint32_t self = open[--depth];
            const Node& node = nodes_[self];
            ++comparisons;
            if (!overlap(node.bounds, box))
                continue;
            if (node.second != 0) {
                open[depth++] = node.second;
                open[depth++] = self + 1;
                continue;
            }
            comparisons += node.end - node.begin;
            for (std::uint32_t i = node.begin; i < node.end; ++i)
                if (overlap(boxes_[order_[i]], box))
                    overlapping.push_back(order_[i]);
        }
        std::sort(overlapping.begin(), overlapping.end());
        return comparisons;
    }

  private:
    struct Node {
        Box<N, order> bounds;
        std::uint32_t begin = 0; ///< of a leaf: range in order_
        std::uint32_t end = 0;
        std::uint32_t second = 0; ///< of an inner node: its second child; the first one follows it
    };

    void build(std::uint32_t begin, std::uint32_t end) {
        constexpr std::uint32_t leaf_size = 4;
        const std::size_t self = nodes_.size();
        nodes_.emplace_back();
        Box<N, order> bounds;
        for (std::uint32_t i = begin; i < end; ++i)
            bounds = bounding(bounds, boxes_[order_[i]]);
        nodes_[self] = {bounds, begin, end, 0};
        if (end - begin <= leaf_size)
            return;
        const std::size_t axis = bounds.longest_axis();
        const std::uint32_t middle = begin + (end - begin) / 2;
        std::nth_element(order_.begin() + begin, order_.begin() + middle, order_.begin() + end,
                         [&](std::uint32_t a, std::uint32_t b) {
                             return boxes_[a].lower[axis] + boxes_[a].upper[axis] <
                                    boxes_[b].lower[axis] + boxes_[b].upper[axis];
                         });
        build(begin, middle);
        nodes_[self].second = static_cast<std::uint32_t>(nodes_.size());
        build(middle, end);
    }

    std::vector<Box<N, order>> boxes_;
    std::vector<std::uint32_t> order_;
    std::vector<Node> nodes_;
};

} // namespace uzushio::domain
