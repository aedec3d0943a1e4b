#pragma once

#include "solvers/thermal/advected.hpp"
#include "solvers/thermal/parameters.hpp"
#include "solvers/thermal/rows.hpp"

namespace uzushio::thermal {

// Arguments are passed by value: GCC does not vectorise loops over variables that a lambda captures
// by reference.

/// Return diffusion less advection of the component along `A` through the centre of the cell below
/// the face `shift` faces from face `n` of a row; `here` is the value at that face.
template <class Scheme, std::size_t A>
double through_cell(const RowMetrics& m, const double* here, std::ptrdiff_t along, double viscosity,
                    std::int64_t n, std::int64_t shift) {
    const double flux = 0.5 * (here[-along] + here[0]);
    return viscosity * (here[0] - here[-along]) * RowMetrics::at<A>(m.inverse_width, n, shift - 1) -
           flux * Scheme::at_face(flux, here, along);
}

/// Return diffusion less advection of the component along `A` through the lower side of its control
/// volume, normal to another axis `B`. `here` is the value, `beside` the distance in memory of its
/// neighbour along B; `across` is the velocity along B, `back` the distance of its neighbour along
/// A.
template <class Scheme, std::size_t A, std::size_t B>
double through_side(const RowMetrics& m, const double* here, std::ptrdiff_t beside,
                    const double* across, std::ptrdiff_t back, double viscosity, std::int64_t n,
                    std::int64_t shift) {
    const double flux = RowMetrics::at<A>(m.share_below, n) * across[-back] +
                        RowMetrics::at<A>(m.share_above, n) * across[0];
    return viscosity * (here[0] - here[-beside]) * RowMetrics::at<B>(m.inverse_distance, n, shift) -
           flux * Scheme::at_face(flux, here, beside);
}

/// Return the sum over both sides along `A` at face `n` of a row.
template <class Scheme, std::size_t A>
double momentum_along(const RowMetrics& m, const double* here, std::ptrdiff_t along,
                      double viscosity, std::int64_t n) {
    return (through_cell<Scheme, A>(m, here + along, along, viscosity, n, 1) -
            through_cell<Scheme, A>(m, here, along, viscosity, n, 0)) *
           RowMetrics::at<A>(m.inverse_distance, n);
}

/// Return the sum over both sides normal to another axis `B`; `across` has the values at the upper
/// side at distance `up`.
template <class Scheme, std::size_t A, std::size_t B>
double momentum_across(const RowMetrics& m, const double* here, std::ptrdiff_t beside,
                       const double* across, std::ptrdiff_t up, std::ptrdiff_t back,
                       double viscosity, std::int64_t n) {
    return (through_side<Scheme, A, B>(m, here + beside, beside, across + up, back, viscosity, n,
                                       1) -
            through_side<Scheme, A, B>(m, here, beside, across, back, viscosity, n, 0)) *
           RowMetrics::at<B>(m.inverse_width, n);
}

/// Return diffusion less advection along axis `A` through the lower face of the cell `shift` cells
/// from cell `n` of a row; `here` is the value of that cell.
template <class Scheme, std::size_t A>
double through_face(const RowMetrics& m, const double* here, std::ptrdiff_t beside, double velocity,
                    double diffusivity, std::int64_t n, std::int64_t shift) {
    return diffusivity * (here[0] - here[-beside]) *
               RowMetrics::at<A>(m.inverse_distance, n, shift) -
           velocity * Scheme::at_face(velocity, here, beside);
}

/// Return the sum over both faces along axis `A` in cell `n` of a row.
template <class Scheme, std::size_t A>
double scalar_along(const RowMetrics& m, const double* here, std::ptrdiff_t beside,
                    const double* velocity, std::ptrdiff_t up, double diffusivity, std::int64_t n) {
    return (through_face<Scheme, A>(m, here + beside, beside, velocity[up], diffusivity, n, 1) -
            through_face<Scheme, A>(m, here, beside, velocity[0], diffusivity, n, 0)) *
           RowMetrics::at<A>(m.inverse_width, n);
}

/// Call `visit<Advected, D>()` for the scheme and the dimension of a flow.
template <class Visit> void for_scheme(const FlowParameters& flow, Visit&& visit) {
    const bool flat = flow.dimension == 2;
    if (flow.scheme == Scheme::central)
        flat ? visit.template operator()<Central, 2>() : visit.template operator()<Central, 3>();
    else
        flat ? visit.template operator()<VanLeer, 2>() : visit.template operator()<VanLeer, 3>();
}

/// Call `visit<Advected, D, A>()`, also for the axis `a`, below D.
template <class Visit>
void for_component(const FlowParameters& flow, std::size_t a, Visit&& visit) {
    for_scheme(flow, [&]<class Advected, std::size_t D>() {
        if (a == 0)
            visit.template operator()<Advected, D, 0>();
        else if (a == 1)
            visit.template operator()<Advected, D, 1>();
        else if constexpr (D == 3)
            visit.template operator()<Advected, D, 2>();
    });
}

} // namespace uzushio::thermal
