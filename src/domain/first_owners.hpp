#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "domain/box_index.hpp"
#include "domain/box_set.hpp"

namespace uzushio::domain {

/// Search in boxes that may overlap: each index belongs to the first box that contains it. Used for
/// plans of redistributions and of reads of a step.
///
/// With n boxes, construction costs O(n log n), and the parts of a region O((k + m) log n) if k
/// boxes overlap it with m overlaps among them.
template <std::size_t N, AxisOrder order = AxisOrder::xyz> class FirstOwners {
  public:
    /// Part of a region that belongs to one box.
    struct Part {
        std::uint32_t owner = 0; ///< index of the box
        Box<N, order> box;
    };

    FirstOwners() = default;
    explicit FirstOwners(std::span<const Box<N, order>> boxes) : index_(boxes) {}

    [[nodiscard]] const Box<N, order>& box(std::uint32_t owner) const {
        return index_.boxes()[owner];
    }

    /// Append the parts of `region` in ascending order of owners. Indices that no box contains are
    /// appended to `missing`, merged into large boxes. Return the number of comparisons of boxes.
    std::size_t find(const Box<N, order>& region, std::vector<Part>& parts,
                     BoxSet<N, order>* missing) const {
        std::vector<std::uint32_t> owners, others;
        std::size_t comparisons = index_.find(region, owners);
        BoxSet<N, order> covered;
        std::int64_t volume = 0;
        for (const std::uint32_t owner : owners) {
            const std::size_t before = covered.size();
            comparisons += find_of(owner, region, covered, others);
            for (std::size_t i = before; i < covered.size(); ++i) {
                parts.push_back({owner, covered[i]});
                volume += covered[i].volume();
            }
        }
        if (missing && volume != region.volume()) {
            BoxSet<N, order> holes;
            comparisons += find_holes(region, covered, holes);
            coalesce(holes);
            missing->insert(missing->end(), holes.begin(), holes.end());
        }
        return comparisons;
    }

    /// Append the parts of `region` that belong to one box. Returns the number of comparisons.
    /// `others` is memory that calls share.
    std::size_t find_of(std::uint32_t owner, const Box<N, order>& region, BoxSet<N, order>& parts,
                        std::vector<std::uint32_t>& others) const {
        const Box<N, order> mine = intersect(box(owner), region);
        if (mine.empty())
            return 0;
        std::size_t comparisons = index_.find(mine, others);
        others.erase(std::lower_bound(others.begin(), others.end(), owner), others.end());
        // Subtract faces before edges and corners: the remainder is then one box.
        const auto rank = [&](std::uint32_t other) {
            return std::tuple(-intersect(box(other), mine).volume(), other);
        };
        std::sort(others.begin(), others.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
        const std::size_t first = parts.size();
        parts.push_back(mine);
        for (const std::uint32_t other : others) {
            const std::size_t count = parts.size() - first;
            comparisons += count;
            for (std::size_t i = 0; i < count; ++i)
                subtract(parts[first + i], box(other), parts);
            const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(first);
            parts.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
        }
        return comparisons;
    }

  private:
    BoxIndex<N, order> index_;
};

} // namespace uzushio::domain
