#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// Binary tree of bounding boxes, split at the median of the longest axis. A search takes the
/// logarithm of the number of boxes plus the number found.
class BoxIndex {
  public:
    BoxIndex() = default;
    explicit BoxIndex(std::span<const Box> boxes);

    /// Append the indices of all boxes that overlap `box`, in no particular order. Returns the
    /// number of comparisons of boxes.
    std::size_t find(const Box& box, std::vector<std::uint32_t>& found) const;

  private:
    struct Node {
        Box bounds;
        std::uint32_t begin = 0; ///< of a leaf: range in order_
        std::uint32_t end = 0;
        std::uint32_t right =
            0; ///< of an inner node: second child; the first child is the next node
    };
    void build(std::uint32_t begin, std::uint32_t end);

    std::vector<Box> boxes_;
    std::vector<std::uint32_t> order_;
    std::vector<Node> nodes_;
};

} // namespace uzushio::staging
