#include "solvers/thermal/cut_points.hpp"

namespace uzushio::thermal {

using geometry::CutLink;
using geometry::CutLinks;
using geometry::Lattice;

namespace {

/// Return the link from a point to its neighbour on a side if it is cut, else null.
const CutLink* link_to(const CutLinks& links, std::size_t axis, const Index<3>& at, int step) {
    return links.find(step > 0 ? at : moved(at, axis, -1));
}

/// Return the extrapolation from point `at` across the surface that cuts its link on a side.
CutSide across(const ImmersedGrid& immersed, const Lattice& lattice, const CutLinks& links,
               std::size_t axis, const Index<3>& at, int step, const CutLink& cut) {
    const double here = lattice.position(axis, at[axis]);
    const double spacing = std::abs(lattice.position(axis, at[axis] + step) - here);
    const geometry::Crossing& crossing = step > 0 ? cut.lower : cut.upper;
    const double distance = std::abs(crossing.position - here);
    CutSide side{.distance = distance, .normal = crossing.normal};
    if (side.normal[axis] * step < 0)
        for (double& component : side.normal)
            component = -component;
    side.surface = immersed.body(step > 0 ? cut.lower_body : cut.upper_body);
    // A point nearer than half a link gives an inaccurate slope: use the point behind it. Surfaces
    // at cell sides are at half a link but for rounding.
    if (distance >= 0.499999 * spacing) {
        side.near = -(spacing - distance) / distance;
    } else if (lattice.box.contains(moved(at, axis, -step)) &&
               link_to(links, axis, at, -step) == nullptr) {
        const double behind = std::abs(lattice.position(axis, at[axis] - step) - here);
        side.behind = -(spacing - distance) / (distance + behind);
    } else {
        side.near = -1;
    }
    side.at_surface = 1 - side.near - side.behind;
    return side;
}

} // namespace

std::vector<CutPoint> cut_points(const ImmersedGrid& immersed, const Lattice& lattice,
                                 const Box<3>& points, std::size_t except, int reach) {
    std::array<CutLinks, 3> links;
    std::vector<Index<3>> near;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (axis == except || lattice.box.extent(axis) == 1)
            continue;
        links[axis] = immersed.links(lattice, axis);
        for (const CutLink& link : links[axis].all())
            for (int step = 1 - reach; step <= reach; ++step)
                if (const Index<3> at = moved(link.at, axis, step); points.contains(at))
                    near.push_back(at);
    }
    const auto order = [](const Index<3>& a, const Index<3>& b) {
        return std::tie(a[2], a[1], a[0]) < std::tie(b[2], b[1], b[0]);
    };
    std::sort(near.begin(), near.end(), order);
    near.erase(std::unique(near.begin(), near.end()), near.end());

    std::vector<CutPoint> result;
    for (const Index<3>& at : near) {
        CutPoint point{.at = at};
        for (std::size_t axis = 0; axis < 3; ++axis)
            for (const int step : {-1, 1}) {
                CutSide& side = point.sides[axis][step > 0 ? 1 : 0];
                if (const CutLink* cut = link_to(links[axis], axis, at, step)) {
                    side = across(immersed, lattice, links[axis], axis, at, step, *cut);
                    side.link = 1;
                } else if (const Index<3> next = moved(at, axis, step); reach == 2) {
                    if (const CutLink* second = link_to(links[axis], axis, next, step)) {
                        side = across(immersed, lattice, links[axis], axis, next, step, *second);
                        side.link = 2;
                    }
                }
            }
        result.push_back(point);
    }
    return result;
}

} // namespace uzushio::thermal
