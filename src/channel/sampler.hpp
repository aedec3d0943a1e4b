#pragma once

#include <string_view>
#include <vector>

#include "channel/solver.hpp"

namespace uzushio::channel {

/// Means over planes of the present fields, from the lower wall to the upper one.
struct Samples {
    /// Moments at cell centres, cells() values each, and at faces, cells() + 1 values each.
    struct Profile {
        std::string_view name;
        bool at_faces;
        std::vector<double> values;
    };
    /// One-dimensional energy spectra at the planes that were asked for: [plane][component][mode].
    std::vector<Profile> profiles;
    std::vector<double> spectra_x; ///< modes 0 … kx-1
    std::vector<double> spectra_y; ///< modes 0 … ky-1, the negative ones added
};

/// Take the samples of `solver` (collective); the values count on rank 0 only. `cells` are the
/// cells whose spectra are wanted. See docs/theory/channel.md for each moment.
[[nodiscard]] Samples sample(Solver& solver, const std::vector<int>& cells);

} // namespace uzushio::channel
