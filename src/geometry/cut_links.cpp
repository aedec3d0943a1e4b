#include "geometry/cut_links.hpp"

#include <algorithm>
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

} // namespace

CutLinks::CutLinks(const std::vector<std::shared_ptr<const Surface>>& bodies,
                   const Lattice& lattice, std::size_t axis) {
    const std::vector<double>& along = lattice.positions[axis];
    const std::size_t b = (axis + 1) % 3, c = (axis + 2) % 3;
    std::vector<Crossing> found;
    for (std::size_t body = 0; body < bodies.size(); ++body) {
        const Bounds bounds = bodies[body]->bounds();
        if (bounds.upper[axis] < along.front() || along.back() < bounds.lower[axis])
            continue;
        const auto [b_first, b_last] = indices_in(lattice, b, bounds.lower[b], bounds.upper[b]);
        const auto [c_first, c_last] = indices_in(lattice, c, bounds.lower[c], bounds.upper[c]);
        for (std::int64_t j = b_first; j < b_last; ++j)
            for (std::int64_t k = c_first; k < c_last; ++k) {
                domain::Vector point{};
                point[axis] = along.front();
                point[b] = lattice.position(b, j);
                point[c] = lattice.position(c, k);
                found.clear();
                bodies[body]->crossings(axis, point, found);
                for (const Crossing& crossing : found) {
                    const auto above =
                        std::upper_bound(along.begin(), along.end(), crossing.position);
                    if (above == along.begin() || above == along.end())
                        continue; // beyond the lattice
                    Index<3> at{};
                    at[axis] = lattice.box.lower[axis] + (above - along.begin()) - 1;
                    at[b] = j;
                    at[c] = k;
                    const int number = static_cast<int>(body);
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
    const auto found =
        std::lower_bound(links_.begin(), links_.end(), at,
                         [](const CutLink& link, const Index<3>& i) { return before(link.at, i); });
    return found != links_.end() && found->at == at ? &*found : nullptr;
}

} // namespace uzushio::geometry
