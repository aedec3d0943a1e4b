#include "solvers/thermal/momentum.hpp"

#include "solvers/thermal/fluxes.hpp"

namespace uzushio::thermal {

namespace {

using Pointers = std::array<RowPointer, 3>;

/// Set the derivative at the faces of a row: of the component along `A`, from the velocity of all
/// `D` axes.
template <class Scheme, std::size_t D, std::size_t A>
void advect_and_diffuse(const RowMetrics& metrics, const Pointers& velocity, double viscosity,
                        double force, std::int64_t size, double* __restrict out) {
    constexpr std::size_t B = (A + 1) % D, C = (A + 2) % D; // D = 2: C is A
    const RowMetrics m = metrics;
    const double* __restrict u = velocity[A].value;
    const double* __restrict v = velocity[B].value;
    const double* __restrict w = velocity[C].value;
    const std::ptrdiff_t u_a = velocity[A].stride[A], u_b = velocity[A].stride[B],
                         u_c = velocity[A].stride[C], v_a = velocity[B].stride[A],
                         v_b = velocity[B].stride[B], w_a = velocity[C].stride[A],
                         w_c = velocity[C].stride[C];
    if constexpr (Scheme::by_axis) {
#pragma omp simd
        for (std::int64_t n = 0; n < size; ++n)
            out[n] = momentum_along<Scheme, A>(m, u + n, u_a, viscosity, n);
#pragma omp simd
        for (std::int64_t n = 0; n < size; ++n)
            out[n] += momentum_across<Scheme, A, B>(m, u + n, u_b, v + n, v_b, v_a, viscosity, n);
        if constexpr (D == 3) {
#pragma omp simd
            for (std::int64_t n = 0; n < size; ++n)
                out[n] +=
                    momentum_across<Scheme, A, C>(m, u + n, u_c, w + n, w_c, w_a, viscosity, n);
        }
#pragma omp simd
        for (std::int64_t n = 0; n < size; ++n)
            out[n] += force;
    } else {
#pragma omp simd
        for (std::int64_t n = 0; n < size; ++n) {
            double sum =
                momentum_along<Scheme, A>(m, u + n, u_a, viscosity, n) +
                momentum_across<Scheme, A, B>(m, u + n, u_b, v + n, v_b, v_a, viscosity, n);
            if constexpr (D == 3)
                sum += momentum_across<Scheme, A, C>(m, u + n, u_c, w + n, w_c, w_a, viscosity, n);
            out[n] = sum + force;
        }
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
void component(const FlowParameters& flow, const domain::Grid& grid, const FlowBlock& block,
               const Box<3>& faces, const View<double>& derivative) {
    for_rows(faces, [&](const Index<3>& first, std::int64_t size) {
        const RowMetrics metrics(grid, first);
        Pointers velocity;
        for (std::size_t b = 0; b < D; ++b)
            velocity[b] = RowPointer(block.velocity[b], first);
        double* out = &derivative(first);
        advect_and_diffuse<Scheme, D, A>(metrics, velocity, flow.viscosity, flow.force[A], size,
                                         out);
        for (std::size_t s = 0; s < flow.scalars.size(); ++s)
            if (flow.scalars[s].buoyancy[A] != 0)
                add_buoyancy<A>(metrics, RowPointer(block.scalars[s], first),
                                flow.scalars[s].buoyancy[A], flow.scalars[s].reference, size, out);
    });
}

} // namespace

void momentum_derivative(const FlowParameters& flow, const domain::Grid& grid,
                         const FlowBlock& block, std::size_t a, const Box<3>& faces,
                         const View<double>& derivative) {
    for_component(flow, a, [&]<class Advected, std::size_t D, std::size_t A>() {
        component<Advected, D, A>(flow, grid, block, faces, derivative);
    });
}

} // namespace uzushio::thermal
