#pragma once

namespace uzushio::phasefield {

/// What of the scheme is known. Equation numbers here and in the rest of the room are those of
/// docs/theory/phasefield.md.
struct Parameters {
    double diffusion = 0.0; ///< a = ε² Δt / (τ h²)
    double reaction = 0.0;  ///< b = Δt / τ
    bool periodic = false;  ///< along both axes; else no flux through the edges
};

/// The parameters with a value of m, and a perturbation of it.
struct Coefficients {
    double a = 0.0;
    double b = 0.0;
    double m = 0.0;
    double dm = 0.0;
};

} // namespace uzushio::phasefield
