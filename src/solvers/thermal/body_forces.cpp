#include "solvers/thermal/body_forces.hpp"

#include <algorithm>

#include "solvers/thermal/fluxes.hpp"

namespace uzushio::thermal {

using geometry::CutLink;

namespace {

/// Return the cut link from a cell to its neighbour on a side of an axis; null: none.
const CutLink* link_beside(const ImmersedGrid& immersed, std::size_t block, std::size_t axis,
                           const Index<3>& cell, bool upper) {
    return immersed.cell_links(block, axis).find(upper ? cell : moved(cell, axis, -1));
}

int body_of(const ImmersedGrid& immersed, const CutLink& link, bool upper) {
    return immersed.body(upper ? link.lower_body : link.upper_body);
}

/// Return the body beyond a side, normal to `axis`, of the control volume of open face `at` normal
/// to `a`, beside a blocked face.
int body_beside(const ImmersedGrid& immersed, std::size_t block, std::size_t a, std::size_t axis,
                const Index<3>& at, bool upper) {
    const Index<3> below = moved(at, a, -1);
    for (const Index<3>& cell : {at, below})
        if (const CutLink* link = link_beside(immersed, block, axis, cell, upper))
            return body_of(immersed, *link, upper);
    // Both cells beside the blocked face are fluid: a surface is between them.
    return body_of(immersed,
                   *immersed.cell_links(block, a).find(moved(below, axis, upper ? 1 : -1)), true);
}

/// Return the point at a face; null: no surface is near.
const CutPoint* point_at(const std::vector<CutPoint>& points, const Index<3>& at) {
    const auto key = [](const Index<3>& i) { return std::tuple(i[2], i[1], i[0]); };
    const auto point =
        std::lower_bound(points.begin(), points.end(), at,
                         [&](const CutPoint& p, const auto& i) { return key(p.at) < key(i); });
    return point != points.end() && point->at == at ? &*point : nullptr;
}

/// Return the momentum along `A` that the control volume of a face gains through its upper, less
/// the lower, side normal to `B`.
template <class Advected, std::size_t A, std::size_t B>
double gain(const domain::Grid& grid, const FlowBlock& block, double viscosity, const Index<3>& at,
            const std::array<CutSide, 2>& cuts, bool upper) {
    const RowMetrics m(grid, at);
    const RowPointer u(block.velocity[A], at), v(block.velocity[B], at);
    const auto line =
        line_of(u.value, u.stride[B], Advected::ghosts, cuts, [](int) { return 0.0; });
    const double* here = line.data() + 2;
    if (upper)
        return through_side<Advected, A, B>(m, here + 1, 1, v.value + v.stride[B], v.stride[A],
                                            viscosity, 0, 1);
    return -through_side<Advected, A, B>(m, here, 1, v.value, v.stride[A], viscosity, 0, 0);
}

} // namespace

BodyForces::BodyForces(const ImmersedGrid& immersed, const FlowParameters& flow,
                       const std::vector<Box<3>>& blocks,
                       const std::vector<std::array<std::vector<CutPoint>, 3>>& points)
    : flow_(flow), grid_(immersed.grid()) {
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        parts_.emplace_back();
        for (std::size_t a = 0; a < static_cast<std::size_t>(flow.dimension); ++a)
            parts_.back()[a] = part_of(immersed, b, a, blocks[b], points[b][a]);
    }
}

BodyForces::Part BodyForces::part_of(const ImmersedGrid& immersed, std::size_t block, std::size_t a,
                                     const Box<3>& cells,
                                     const std::vector<CutPoint>& points) const {
    Part part;
    const View<const double> open = std::as_const(*immersed.open()).view(block, a);
    for_indices(cells, [&](const Index<3>& at) {
        if (!immersed.is_fluid(block, at))
            return;
        const double section = grid_.side_area(a, at); // of the cell
        for (const bool upper : {false, true})
            if (open(moved(at, a, upper ? 1 : 0)) == 0) {
                const CutLink& link = *link_beside(immersed, block, a, at, upper);
                part.ends.push_back(
                    {at, body_of(immersed, link, upper), upper ? section : -section});
            }
        if (open(at) == 0 || (!grid_[a].periodic() && at[a] == 0))
            return; // the velocity there is no result of momentum
        const CutPoint* point = point_at(points, at);
        for (std::size_t axis = 0; axis < static_cast<std::size_t>(flow_.dimension); ++axis)
            for (const bool upper : {false, true}) {
                const Index<3> beside = moved(at, axis, upper ? 1 : -1);
                if (axis == a || (!grid_[axis].periodic() &&
                                  (beside[axis] < 0 || beside[axis] == grid_[axis].cells())))
                    continue;
                Side side{.face = at, .axis = axis, .is_upper = upper};
                if (point != nullptr)
                    side.cuts = point->sides[axis];
                const CutSide& cut = side.cuts[upper ? 1 : 0];
                if (cut.link == 1)
                    side.body = cut.surface;
                else if (!immersed.is_open(block, a, beside))
                    side.body = body_beside(immersed, block, a, axis, at, upper);
                else
                    continue;
                side.area =
                    section / (grid_[axis].width()[at[axis]] * grid_[a].inverse_distance()[at[a]]);
                part.sides.push_back(side);
            }
    });
    return part;
}

void BodyForces::add(const FlowBlock& block, const View<const double>& pressure, std::size_t number,
                     std::vector<parallel::CompensatedSum>& sums) const {
    for (std::size_t a = 0; a < static_cast<std::size_t>(flow_.dimension); ++a)
        for_component(flow_, a, [&]<class Advected, std::size_t D, std::size_t A>() {
            const auto sum = [&](int body) -> parallel::CompensatedSum& {
                return sums[3 * static_cast<std::size_t>(body) + A];
            };
            const Part& part = parts_[number][A];
            for (const End& end : part.ends) {
                const RowMetrics m(grid_, end.cell);
                const RowPointer u(block.velocity[A], end.cell);
                const double gained = through_cell<Advected, A>(m, u.value + u.stride[A],
                                                                u.stride[A], flow_.viscosity, 0, 1);
                sum(end.body).add(end.area * (pressure(end.cell) - gained));
            }
            constexpr std::size_t B = (A + 1) % D, C = (A + 2) % D; // D = 2: C is A
            for (const Side& side : part.sides) {
                const auto call = side.axis == B ? gain<Advected, A, B> : gain<Advected, A, C>;
                sum(side.body).add(-side.area * call(grid_, block, flow_.viscosity, side.face,
                                                     side.cuts, side.is_upper));
            }
        });
}

} // namespace uzushio::thermal
