#pragma once

#include <span>
#include <vector>

#include "compositing/image.hpp"
#include "compositing/method.hpp"

namespace uzushio::compositing {

/// A rank and the positions of the picture that it owns.
struct Owner {
    int rank = 0;
    Range region;
    bool operator==(const Owner&) const = default;
};

/// Ranks whose images become one. Those of the children, in visibility order, have become one each
/// and lie with the children's owners; the owners of this group take over, each its region from
/// everybody who has a part of it. Without children: one rank with its own image.
///
/// Every algorithm here is such a tree. Who sends what to whom, and how long it takes, follow from
/// it.
struct Group {
    std::vector<Group> children;
    std::vector<Owner> owners; ///< in the order of their regions, which cover the picture
    Width width = Width::narrow;
    /// Instead of all at once, parts travel from child to child towards their owner; each child has
    /// one owner.
    bool chain = false;
};

/// What an algorithm needs to know besides the groups that it composites.
struct Setting {
    int pixels = 0;
    int leader = -1; ///< the rank that will want the whole picture; -1: nobody
    int fan_in = 16; ///< at most so many messages are gathered at one rank at a time
};

/// Composite groups, given in visibility order, by one of the algorithms of the table.
struct Algorithm {
    std::string_view name;
    std::string_view number;  ///< what its number means; empty: it takes none
    int least = 0, usual = 0; ///< of the number
    std::size_t parts = 0;    ///< algorithms that it takes
    Group (*build)(const Method& method, std::vector<Group> units, const Setting& setting);
};

/// All algorithms that go by messages.
[[nodiscard]] std::span<const Algorithm> algorithms();

/// The tree by which `ranks`, in visibility order, composite. The picture goes to `root` if
/// `gather`, else its regions stay with their owners.
struct Arrangement {
    int pixels = 0;
    int root = 0;
    bool gather = true;
    int fan_in = 16;
    Width input = Width::narrow;
};
[[nodiscard]] Group arrange(const Method& method, std::span<const int> ranks,
                            const Arrangement& arrangement);

} // namespace uzushio::compositing
