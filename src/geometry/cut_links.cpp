#include "geometry/cut_links.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

namespace uzushio::geometry {

using domain::Index;

namespace {

bool before(const Index<3>& a, const Index<3>& b) {
    return std::tie(a[2], a[1], a[0]) < std::tie(b[2], b[1], b[0]);
}

/// Return the range of a lattice's indices along an axis whose positions are in [lower, upper].
std::pair<std::int64_t, std::int64_t> indices_in(const Lattice& lattice, std::size_t axis,
                                                 double lower, double upper) {
    const std::vector<double>& all = lattice.positions[axis];
    const auto first = std::lower_bound(all.begin(), all.end(), lower);
    const auto last = std::upper_bound(first, all.end(), upper);
    return {lattice.box.lower[axis] + (first - all.begin()),
            lattice.box.lower[axis] + (last - all.begin())};
}

/// Points of a lattice inside a closed surface, by the crossings of lines along axis 0.
class InsidePoints {
  public:
    InsidePoints(const Surface& surface, const Lattice& lattice)
        : surface_(surface), lattice_(lattice) {
        const Bounds bounds = surface.bounds();
        for (std::size_t a = 0; a < 3; ++a)
            std::tie(box_.lower[a], box_.upper[a]) =
                indices_in(lattice, a, bounds.lower[a], bounds.upper[a]);
        if (box_.empty())
            return;
        inside_.resize(static_cast<std::size_t>(box_.volume()));
        std::vector<Crossing> crossings;
        auto value = inside_.begin();
        for (std::int64_t k = box_.lower[2]; k < box_.upper[2]; ++k)
            for (std::int64_t j = box_.lower[1]; j < box_.upper[1]; ++j) {
                crossings.clear();
                surface.crossings(0, point({box_.lower[0], j, k}), crossings);
                std::sort(
                    crossings.begin(), crossings.end(),
                    [](const Crossing& a, const Crossing& b) { return a.position < b.position; });
                auto next = crossings.begin();
                Winding winding;
                for (std::int64_t i = box_.lower[0]; i < box_.upper[0]; ++i) {
                    while (next != crossings.end() && next->position < lattice.position(0, i))
                        winding.pass(*next++);
                    *value++ = winding.is_inside();
                }
            }
    }
    [[nodiscard]] bool contains(const Index<3>& at) const {
        if (!box_.contains(at))
            return false;
        const Index<3> from{at[0] - box_.lower[0], at[1] - box_.lower[1], at[2] - box_.lower[2]};
        return inside_[static_cast<std::size_t>(
            (from[2] * box_.extent(1) + from[1]) * box_.extent(0) + from[0])];
    }
    /// Return the crossing, along `axis`, of a link with one end inside and no crossing: at the end
    /// that is nearer to the surface along axis 0.
    [[nodiscard]] Crossing crossing(const Index<3>& lower, std::size_t axis) const {
        Crossing nearest;
        double distance = std::numeric_limits<double>::infinity();
        for (Index<3> at = lower; at[axis] <= lower[axis] + 1; ++at[axis]) {
            std::vector<Crossing> crossings;
            surface_.crossings(0, point(at), crossings);
            for (const Crossing& crossing : crossings)
                if (std::abs(crossing.position - lattice_.position(0, at[0])) < distance) {
                    distance = std::abs(crossing.position - lattice_.position(0, at[0]));
                    nearest = {lattice_.position(axis, at[axis]), crossing.normal};
                }
        }
        return nearest;
    }

  private:
    [[nodiscard]] domain::Vector point(const Index<3>& at) const {
        return {lattice_.position(0, at[0]), lattice_.position(1, at[1]),
                lattice_.position(2, at[2])};
    }
    const Surface& surface_;
    const Lattice& lattice_;
    domain::Box<3> box_;
    std::vector<bool> inside_; ///< of the points of `box_`
};

} // namespace

CutLinks::CutLinks(const std::vector<std::shared_ptr<const Surface>>& bodies,
                   const Lattice& lattice, std::size_t axis) {
    const std::vector<double>& along = lattice.positions[axis];
    const std::size_t b = (axis + 1) % 3, c = (axis + 2) % 3;
    std::vector<Crossing> crossings;
    for (std::size_t body = 0; body < bodies.size(); ++body) {
        const Bounds bounds = bodies[body]->bounds();
        if (bounds.upper[axis] < along.front() || along.back() < bounds.lower[axis])
            continue;
        const int number = static_cast<int>(body);
        std::optional<InsidePoints> inside; // along axis 0 there is nothing to check
        if (axis != 0 && bodies[body]->is_closed())
            inside.emplace(*bodies[body], lattice);
        std::vector<bool> is_cut(along.size()); // links of a line
        const auto [b_first, b_last] = indices_in(lattice, b, bounds.lower[b], bounds.upper[b]);
        const auto [c_first, c_last] = indices_in(lattice, c, bounds.lower[c], bounds.upper[c]);
        for (std::int64_t j = b_first; j < b_last; ++j)
            for (std::int64_t k = c_first; k < c_last; ++k) {
                domain::Vector point{};
                point[axis] = along.front();
                point[b] = lattice.position(b, j);
                point[c] = lattice.position(c, k);
                Index<3> at{};
                at[b] = j;
                at[c] = k;
                crossings.clear();
                bodies[body]->crossings(axis, point, crossings);
                std::fill(is_cut.begin(), is_cut.end(), false);
                for (const Crossing& crossing : crossings) {
                    const auto above =
                        std::upper_bound(along.begin(), along.end(), crossing.position);
                    if (above == along.begin() || above == along.end())
                        continue; // beyond the lattice
                    const auto link = above - along.begin() - 1;
                    is_cut[static_cast<std::size_t>(link)] = true;
                    at[axis] = lattice.box.lower[axis] + link;
                    links_.push_back({at, crossing, crossing, number, number});
                }
                if (!inside)
                    continue;
                for (std::size_t link = 0; link + 1 < along.size(); ++link) {
                    at[axis] = lattice.box.lower[axis] + static_cast<std::int64_t>(link);
                    if (is_cut[link] ||
                        inside->contains(at) == inside->contains(domain::moved(at, axis, 1)))
                        continue;
                    const Crossing crossing = inside->crossing(at, axis);
                    links_.push_back({at, crossing, crossing, number, number});
                }
            }
    }
    std::stable_sort(links_.begin(), links_.end(), [](const CutLink& x, const CutLink& y) {
        return before(x.at, y.at) || (x.at == y.at && x.lower.position < y.lower.position);
    });
    std::vector<CutLink> merged;
    for (const CutLink& link : links_)
        if (merged.empty() || merged.back().at != link.at) {
            merged.push_back(link);
        } else {
            merged.back().upper = link.upper;
            merged.back().upper_body = link.upper_body;
        }
    links_ = std::move(merged);
}

const CutLink* CutLinks::find(const Index<3>& at) const {
    const auto place =
        std::lower_bound(links_.begin(), links_.end(), at,
                         [](const CutLink& link, const Index<3>& i) { return before(link.at, i); });
    return place != links_.end() && place->at == at ? &*place : nullptr;
}

} // namespace uzushio::geometry
