#include "domain/ghost_fill.hpp"

namespace uzushio::domain {
namespace {

/// Ghosts are `offset + factor * mirror image`.
GhostFill reflect(double factor, double offset) {
    return [factor, offset](const BoundaryGhosts& ghosts, double) {
        const View<double>& view = ghosts.values;
        for_indices(ghosts.box, [&](const Index<3>& at) {
            const Index<3> inside = ghosts.mirrored(at);
            for (int c = 0; c < view.components(); ++c)
                view(at, c) = offset + factor * view(inside, c);
        });
    };
}

} // namespace

GhostFill fixed_value(double value) { return reflect(-1, 2 * value); }
GhostFill zero_gradient() { return reflect(1, 0); }

} // namespace uzushio::domain
