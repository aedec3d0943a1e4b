#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// Finds those of many boxes that overlap a given one, in the logarithm of their number plus the
/// number found: a binary tree of bounding boxes, split at the median of the longest axis.
class BoxIndex {
  public:
    BoxIndex() = default;
    explicit BoxIndex(std::span<const Box> boxes);

    /// Append the indices of all boxes that overlap `box`, in no particular order. Returns how many
    /// comparisons of boxes that took.
    std::size_t find(const Box& box, std::vector<std::uint32_t>& found) const;

  private:
    struct Node {
        Box bounds;
        std::uint32_t begin = 0; ///< of a leaf: range in order_
        std::uint32_t end = 0;
        std::uint32_t right = 0; ///< of an inner node: its second child; the first one follows it
    };
    void build(std::uint32_t begin, std::uint32_t end);

    std::vector<Box> boxes_;
    std::vector<std::uint32_t> order_;
    std::vector<Node> nodes_;
};

} // namespace uzushio::staging
