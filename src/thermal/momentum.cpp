#include "thermal/momentum.hpp"

#include "thermal/advected.hpp"

namespace uzushio::thermal {

namespace {

using domain::Box;
using domain::Index;
using domain::View;
using Pointers = std::array<RowPointer, 3>;

/// Set the derivative at the faces of a row: of the component along `A`, from the velocity of all
/// `D` axes.
template <class Scheme, std::size_t D, std::size_t A>
void advect_and_diffuse(const RowMetrics& m, const Pointers& velocity, double viscosity,
                        double force, std::int64_t size, double* __restrict out) {
    const double* __restrict u = velocity[A].value;
    const std::ptrdiff_t along = velocity[A].stride[A];
    const auto at = [](const auto& values, auto axis, std::int64_t n, std::int64_t shift = 0) {
        return RowMetrics::at<decltype(axis)::value>(values, n, shift);
    };
    constexpr std::integral_constant<std::size_t, A> own;
#pragma omp simd
    for (std::int64_t n = 0; n < size; ++n) {
        const double* const here = u + n;
        // Through the centres of the cells below and above the face.
        const double flux_above = 0.5 * (here[0] + here[along]);
        const double flux_below = 0.5 * (here[-along] + here[0]);
        double sum = (viscosity * ((here[along] - here[0]) * at(m.inverse_width, own, n) -
                                   (here[0] - here[-along]) * at(m.inverse_width, own, n, -1)) -
                      (flux_above * Scheme::at_face(flux_above, here + along, along) -
                       flux_below * Scheme::at_face(flux_below, here, along))) *
                     at(m.inverse_distance, own, n);
        for_other_axes<D, A>([&](auto b) {
            constexpr std::size_t B = decltype(b)::value;
            const std::ptrdiff_t beside = velocity[A].stride[B];
            const double* const across = velocity[B].value + n;
            const std::ptrdiff_t back = velocity[B].stride[A];
            const std::ptrdiff_t up = velocity[B].stride[B];
            const double below = at(m.share_below, own, n);
            const double above = at(m.share_above, own, n);
            const double flux_upper = below * across[up - back] + above * across[up];
            const double flux_lower = below * across[-back] + above * across[0];
            sum += (viscosity * ((here[beside] - here[0]) * at(m.inverse_distance, b, n, 1) -
                                 (here[0] - here[-beside]) * at(m.inverse_distance, b, n)) -
                    (flux_upper * Scheme::at_face(flux_upper, here + beside, beside) -
                     flux_lower * Scheme::at_face(flux_lower, here, beside))) *
                   at(m.inverse_width, b, n);
        });
        out[n] = sum + force;
    }
}

/// Add the buoyancy of a scalar to the derivatives of a row of faces normal to `A`.
template <std::size_t A>
void add_buoyancy(const RowMetrics& m, const RowPointer& scalar, double factor, double reference,
                  std::int64_t size, double* __restrict out) {
    const double* __restrict s = scalar.value;
    const std::ptrdiff_t back = scalar.stride[A];
#pragma omp simd
    for (std::int64_t n = 0; n < size; ++n) {
        // Linear interpolation to the face.
        const double value = RowMetrics::at<A>(m.share_above, n) * s[n - back] +
                             RowMetrics::at<A>(m.share_below, n) * s[n];
        out[n] += factor * (value - reference);
    }
}

template <class Scheme, std::size_t D, std::size_t A>
void component(const FlowParameters& flow, const std::array<AxisMetrics, 3>& axes,
               const FlowBlock& block, const Box<3>& faces, const View<double>& derivative) {
    for (std::int64_t k = faces.lower[2]; k < faces.upper[2]; ++k)
        for (std::int64_t j = faces.lower[1]; j < faces.upper[1]; ++j) {
            const Index<3> first{faces.lower[0], j, k};
            const RowMetrics metrics(axes, first);
            Pointers velocity;
            for (std::size_t b = 0; b < D; ++b)
                velocity[b] = RowPointer(block.velocity[b], first);
            double* out = &derivative(first);
            const std::int64_t size = faces.extent(0);
            advect_and_diffuse<Scheme, D, A>(metrics, velocity, flow.viscosity, flow.force[A], size,
                                             out);
            for (std::size_t s = 0; s < flow.scalars.size(); ++s)
                if (flow.scalars[s].buoyancy[A] != 0)
                    add_buoyancy<A>(metrics, RowPointer(block.scalars[s], first),
                                    flow.scalars[s].buoyancy[A], flow.scalars[s].reference, size,
                                    out);
        }
}

template <class Scheme, class... Arguments>
void for_axis(int dimension, std::size_t a, const Arguments&... arguments) {
    if (dimension == 2)
        a == 0 ? component<Scheme, 2, 0>(arguments...) : component<Scheme, 2, 1>(arguments...);
    else if (a == 0)
        component<Scheme, 3, 0>(arguments...);
    else if (a == 1)
        component<Scheme, 3, 1>(arguments...);
    else
        component<Scheme, 3, 2>(arguments...);
}

} // namespace

void momentum_derivative(const FlowParameters& flow, const std::array<AxisMetrics, 3>& axes,
                         const FlowBlock& block, std::size_t a, const Box<3>& faces,
                         const View<double>& derivative) {
    if (flow.scheme == Scheme::central)
        for_axis<Central>(flow.dimension, a, flow, axes, block, faces, derivative);
    else
        for_axis<VanLeer>(flow.dimension, a, flow, axes, block, faces, derivative);
}

} // namespace uzushio::thermal
