#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compositing/algorithm_spec.hpp"
#include "compositing/image.hpp"

namespace uzushio::compositing {

/// Positions of the picture that a rank owns.
struct RankSpan {
    int rank = 0;
    Range region;
    bool operator==(const RankSpan&) const = default;
};

/// Ranks that composite their images to one. The children, in visibility order, have composited
/// theirs; the pixels lie with the children's owners. Each owner of this group receives its region
/// from all owners of children whose regions overlap it. A group without children is one rank with
/// its own image.
///
/// Every algorithm is a tree of groups. The messages and their predicted time follow from the tree.
struct CompositingGroup {
    std::vector<CompositingGroup> children;
    std::vector<RankSpan> owners; ///< in the order of their regions, which cover the picture
    ChannelWidth width = ChannelWidth::narrow;
    /// Regions travel from child to child to their owner, not directly; each child has one owner.
    bool chain = false;
};

/// Parameters of an algorithm besides the groups that it composites.
struct BuildContext {
    int pixels = 0;
    int gather_rank = -1; ///< rank that receives the whole picture; -1: none
    int fan_in = 16;      ///< maximum number of messages that a rank gathers at a time
};

/// Entry of the table of algorithms.
struct Algorithm {
    std::string_view name;
    std::string_view parameter; ///< meaning of its number; empty: it has none
    int min_parameter = 0, default_parameter = 0;
    std::size_t sub_algorithms = 0; ///< number of algorithms that it is made of
    /// Composite `inputs`, in visibility order.
    CompositingGroup (*build)(const AlgorithmSpec& spec, std::vector<CompositingGroup> inputs,
                              const BuildContext& context);
};

/// Return all algorithms that use messages.
[[nodiscard]] std::span<const Algorithm> algorithms();

struct TreeOptions {
    int pixels = 0;
    int root = 0;
    bool gather = true; ///< to the root; else the regions stay with their owners
    int fan_in = 16;
    ChannelWidth input = ChannelWidth::narrow;
};

/// Return the tree of an algorithm for `ranks` in visibility order.
[[nodiscard]] CompositingGroup build_tree(const AlgorithmSpec& spec, std::span<const int> ranks,
                                          const TreeOptions& options);

} // namespace uzushio::compositing
