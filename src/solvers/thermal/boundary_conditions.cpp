#include "solvers/thermal/boundary_conditions.hpp"

namespace uzushio::thermal {

using domain::BoundaryGhosts;
using domain::GhostFill;

namespace {

bool is_given(const FaceCondition& condition) {
    return condition.kind == FaceCondition::Kind::wall ||
           condition.kind == FaceCondition::Kind::inflow;
}

} // namespace

GhostFill velocity_ghosts(const FaceCondition& condition) {
    return [condition](const BoundaryGhosts& ghosts, double) {
        const std::size_t normal = ghosts.region->patch.face.axis;
        const View<double>& view = ghosts.values;
        std::size_t component = 0;
        while (!ghosts.stagger[component])
            ++component;
        if (component == normal) { // odd about the value on the face, which is stored
            const Index<3> zero{};
            for_indices(ghosts.box, [&](const Index<3>& at) {
                Index<3> face = at;
                face[normal] = ghosts.region->patch.face.is_upper()
                                   ? ghosts.region->zone_cells[normal]
                                   : zero[normal];
                view(at) = 2 * view(face) - view(ghosts.mirrored(at));
            });
        } else if (is_given(condition)) {
            const double twice = 2 * condition.velocity[component];
            for_indices(ghosts.box,
                        [&](const Index<3>& at) { view(at) = twice - view(ghosts.mirrored(at)); });
        } else {
            for_indices(ghosts.box,
                        [&](const Index<3>& at) { view(at) = view(ghosts.mirrored(at)); });
        }
    };
}

GhostFill scalar_ghosts(const FaceCondition& condition, const ScalarCondition& scalar,
                        double diffusivity, const domain::GridAxis& axis) {
    if (!is_given(condition))
        return domain::zero_gradient();
    if (scalar.fixed)
        return domain::fixed_value(scalar.value);
    if (scalar.value == 0)
        return domain::zero_gradient();
    const double slope = scalar.value / diffusivity;
    return [slope, axis](const BoundaryGhosts& ghosts, double) {
        const View<double>& view = ghosts.values;
        const std::size_t normal = ghosts.region->patch.face.axis;
        for_indices(ghosts.box, [&](const Index<3>& at) {
            const Index<3> inside = ghosts.mirrored(at);
            // From the ghost's centre to that of its mirror image.
            double distance = 0;
            for (std::int64_t c = std::min(at[normal], inside[normal]);
                 c < std::max(at[normal], inside[normal]); ++c)
                distance += 0.5 * (axis.width()[c] + axis.width()[c + 1]);
            view(at) = view(inside) + slope * distance;
        });
    };
}

GhostFill eddy_ghosts(const FaceCondition& condition) {
    return condition.kind == FaceCondition::Kind::wall ? domain::fixed_value(0)
                                                       : domain::zero_gradient();
}

} // namespace uzushio::thermal
