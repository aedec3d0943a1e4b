#pragma once

#include <string_view>
#include <vector>

#include "solvers/channel/solver.hpp"

namespace uzushio::channel {

/// Means over planes of the present fields, from the lower wall to the upper one.
struct Samples {
    /// Moment at the cell centres, cells() values, or at the faces, cells() + 1 values.
    struct Profile {
        std::string_view name;
        bool at_faces;
        std::vector<double> values;
    };
    std::vector<Profile> profiles;
    /// One-dimensional energy spectra in the requested cells: [cell][component][mode].
    std::vector<double> spectra_x; ///< modes 0 … kx-1
    std::vector<double> spectra_y; ///< modes 0 … ky-1, each with its negative
};

/// Return the samples of `solver` (collective); complete on rank 0 only. `cells`: indices of the
/// cells for spectra. docs/theory/channel.md defines each moment.
[[nodiscard]] Samples sample(Solver& solver, const std::vector<int>& cells);

} // namespace uzushio::channel
