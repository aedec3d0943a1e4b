#include "linalg/mode_axes.hpp"

#include <algorithm>
#include <utility>

namespace uzushio::linalg {

using domain::Box;

namespace {

/// Cells along a stretched axis up to which a matrix transforms it fast. With twice as many the
/// set-up, of the order of n³, takes longer than many solutions by conjugate gradients.
constexpr int longest_matrix = 512;

Box<3> whole_box(const std::array<Axis, 3>& axes, const AxisOrder& order) {
    Box<3> box;
    for (std::size_t a = 0; a < 3; ++a)
        box.upper[a] = axes[order[a]].cells();
    return box;
}

} // namespace

std::size_t tridiagonal_axis(const std::array<Axis, 3>& axes) {
    std::size_t best = 2;
    const auto rank = [&](std::size_t a) {
        const bool matrix = axes[a].uniform || (!axes[2].used && !axes[a].periodic() &&
                                                axes[a].cells() <= longest_matrix);
        return matrix ? std::pair(0, 0) : std::pair(axes[a].periodic() ? 2 : 1, axes[a].cells());
    };
    for (const std::size_t a : {1UL, 0UL})
        if (rank(a) > rank(best))
            best = a;
    return best;
}

Box<3> region_in(const Box<3>* region, const std::array<Axis, 3>& axes, const AxisOrder& order) {
    Box<3> box = whole_box(axes, order);
    const Axis& last = axes[order[2]];
    for (std::size_t a = 1; a < 3 && region != nullptr; ++a)
        if (a == 1 || !(last.used && last.periodic())) {
            box.lower[a] = region->lower[a];
            box.upper[a] = region->upper[a];
        }
    box.lower[1] -= box.lower[1] % 2; // rows are transformed in pairs, the same on all ranks
    return box;
}

Box<3> planes_of(Box<3> region, const std::array<Axis, 3>& axes, const AxisOrder& order) {
    region.lower[1] = 0;
    region.upper[1] = axes[order[1]].cells();
    return region;
}

std::array<int, 2> cuts(const Box<3>& box, int ranks) {
    // Slabs of planes while there are enough planes; then pencils.
    const int planes = std::max(1, static_cast<int>(std::min(box.extent(1), box.extent(2))));
    const int across = (ranks + planes - 1) / planes;
    return {across, std::max(1, ranks / across)};
}

std::string why_no_modes(const std::array<Axis, 3>& axes) {
    const auto stretched = std::count_if(axes.begin(), axes.end(), [](const Axis& axis) {
        return !axis.uniform && axis.periodic();
    });
    return stretched > 1 ? "cells are stretched along more than one periodic axis" : "";
}

bool are_modes_fast(const std::array<Axis, 3>& axes) {
    for (std::size_t a = 0; a < 3; ++a)
        if (!axes[a].uniform && a != tridiagonal_axis(axes) && axes[a].cells() > longest_matrix)
            return false;
    return true;
}

} // namespace uzushio::linalg
