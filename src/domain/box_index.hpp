#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/box.hpp"

namespace uzushio::domain {

/// Tree of bounding boxes that finds those of many boxes that overlap a given one, in the logarithm
/// of their number plus the number found. Split at the median of the longest axis.
template <std::size_t N> class BoxIndex {
  public:
    BoxIndex() = default;
    explicit BoxIndex(std::span<const Box<N>> boxes) : boxes_(boxes.begin(), boxes.end()) {
        for (std::size_t i = 0; i < boxes_.size(); ++i)
            if (!boxes_[i].empty())
                order_.push_back(static_cast<std::uint32_t>(i));
        if (!order_.empty())
            build(0, static_cast<std::uint32_t>(order_.size()));
    }

    /// Return the indices of all boxes that overlap `box`, ascending.
    [[nodiscard]] std::vector<std::uint32_t> find(const Box<N>& box) const {
        std::vector<std::uint32_t> found;
        std::vector<std::uint32_t> open;
        if (!nodes_.empty())
            open.push_back(0);
        while (!open.empty()) {
            const std::uint32_t self = open.back();
            open.pop_back();
            const Node& node = nodes_[self];
            if (!overlap(node.bounds, box))
                continue;
            if (node.second != 0) {
                open.push_back(node.second);
                open.push_back(self + 1);
                continue;
            }
            for (std::uint32_t i = node.begin; i < node.end; ++i)
                if (overlap(boxes_[order_[i]], box))
                    found.push_back(order_[i]);
        }
        std::sort(found.begin(), found.end());
        return found;
    }

  private:
    struct Node {
        Box<N> bounds;
        std::uint32_t begin = 0; ///< of a leaf: range in order_
        std::uint32_t end = 0;
        std::uint32_t second = 0; ///< of an inner node: its second child; the first one follows it
    };

    void build(std::uint32_t begin, std::uint32_t end) {
        constexpr std::uint32_t leaf_size = 4;
        const std::size_t self = nodes_.size();
        nodes_.emplace_back();
        Box<N> bounds;
        for (std::uint32_t i = begin; i < end; ++i)
            bounds = bounding(bounds, boxes_[order_[i]]);
        nodes_[self] = {bounds, begin, end, 0};
        if (end - begin <= leaf_size)
            return;
        const auto extents = bounds.extents();
        const auto axis = static_cast<std::size_t>(
            std::max_element(extents.begin(), extents.end()) - extents.begin());
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

    std::vector<Box<N>> boxes_;
    std::vector<std::uint32_t> order_;
    std::vector<Node> nodes_;
};

} // namespace uzushio::domain
