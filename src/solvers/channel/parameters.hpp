#pragma once

#include <string>
#include <vector>

#include "solvers/channel/modes.hpp"
#include "solvers/channel/plane_transform.hpp"

namespace uzushio::channel {

/// Quantity that drives the flow: the mean pressure gradient, or the flow rate.
enum class Forcing { pressure_gradient, flow_rate };

/// See `linalg::TridiagonalSetup`.
inline constexpr int max_values = 8;

/// Parameters of a channel of half width 1 between walls at z = 0 and z = 2, periodic in x and y.
struct Parameters {
    int nx = 0;
    int ny = 0;
    double lx = 0;
    double ly = 0;
    std::vector<double> faces; ///< nz + 1 increasing positions of the cell faces, from 0 to 2
    double viscosity = 0;
    Forcing forcing = Forcing::pressure_gradient;
    double drive = 0; ///< minus the mean pressure gradient, or the bulk velocity
    Dealiasing dealiasing = Dealiasing::three_halves;
    std::string scheme = "pipelined"; ///< of the tridiagonal solves: see `linalg::make_tridiagonal`
    SentPrecision transpose_precision = SentPrecision::full;
    Transposes transposes = Transposes::shared_memory;
    int py = 1;
    int pz = 1;
    int threads = 1; ///< of a rank, the same number on all

    [[nodiscard]] int nz() const { return static_cast<int>(faces.size()) - 1; }
};

/// Throw `std::invalid_argument`, with a message for the user, if a value is invalid.
void check(const Parameters& parameters);

} // namespace uzushio::channel
