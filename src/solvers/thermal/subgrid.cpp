#include "solvers/thermal/subgrid.hpp"

#include "solvers/thermal/rows.hpp"

namespace uzushio::thermal {

namespace {

/// Return a cell value at the face, normal to `A`, below cell `n` of a row (linear interpolation).
template <std::size_t A>
UZUSHIO_INLINE double at_face(const RowMetrics& m, const double* here, std::ptrdiff_t back,
                              std::int64_t n, std::int64_t shift = 0) {
    return RowMetrics::at<A>(m.share_above, n, shift) * here[-back] +
           RowMetrics::at<A>(m.share_below, n, shift) * here[0];
}

/// Return the normal stress along `A` in the cell above face `n` of a row, or with `shift` -1 below
/// it; `viscosity` and `here` are values there.
template <std::size_t A>
UZUSHIO_INLINE double normal_stress(const RowMetrics& m, const double* viscosity,
                                    const double* here, std::ptrdiff_t up, std::int64_t n,
                                    std::int64_t shift) {
    return 2 * viscosity[0] * (here[up] - here[0]) * RowMetrics::at<A>(m.inverse_width, n, shift);
}

/// Distances in memory of neighbours along the axes A and B.
struct Strides {
    std::ptrdiff_t a = 0, b = 0;
};

/// Return the stress along `A` through the side, normal to `B`, below face `n` of a row, or with
/// `shift` 1 above it. `viscosity`, `u` along A and `v` along B are values above the side.
template <std::size_t A, std::size_t B>
UZUSHIO_INLINE double shear_stress(const RowMetrics& m, const double* viscosity,
                                   Strides of_viscosity, const double* u, std::ptrdiff_t u_b,
                                   const double* v, std::ptrdiff_t v_a, std::int64_t n,
                                   std::int64_t shift) {
    const double below = at_face<A>(m, viscosity - of_viscosity.b, of_viscosity.a, n);
    const double above = at_face<A>(m, viscosity, of_viscosity.a, n);
    const double at_edge = RowMetrics::at<B>(m.share_above, n, shift) * below +
                           RowMetrics::at<B>(m.share_below, n, shift) * above;
    return at_edge * ((u[0] - u[-u_b]) * RowMetrics::at<B>(m.inverse_distance, n, shift) +
                      (v[0] - v[-v_a]) * RowMetrics::at<A>(m.inverse_distance, n));
}

template <std::size_t D, std::size_t A>
void stress_row(const RowMetrics& metrics, const RowPointer& nu,
                const std::array<RowPointer, 3>& velocity, std::int64_t size,
                double* __restrict out) {
    constexpr std::size_t B = (A + 1) % D, C = (A + 2) % D; // D = 2: C is A
    const RowMetrics m = metrics;
    const double* __restrict eddy = nu.value;
    const double* __restrict u = velocity[A].value;
    const double* __restrict v = velocity[B].value;
    const double* __restrict w = velocity[C].value;
    const std::ptrdiff_t e_a = nu.stride[A], u_a = velocity[A].stride[A],
                         u_b = velocity[A].stride[B], u_c = velocity[A].stride[C],
                         v_a = velocity[B].stride[A], v_b = velocity[B].stride[B],
                         w_a = velocity[C].stride[A], w_c = velocity[C].stride[C];
    const Strides ab{e_a, nu.stride[B]}, ac{e_a, nu.stride[C]};
#pragma omp simd
    for (std::int64_t n = 0; n < size; ++n) {
        double sum =
            (normal_stress<A>(m, eddy + n, u + n, u_a, n, 0) -
             normal_stress<A>(m, eddy + n - e_a, u + n - u_a, u_a, n, -1)) *
                RowMetrics::at<A>(m.inverse_distance, n) +
            (shear_stress<A, B>(m, eddy + n + ab.b, ab, u + n + u_b, u_b, v + n + v_b, v_a, n, 1) -
             shear_stress<A, B>(m, eddy + n, ab, u + n, u_b, v + n, v_a, n, 0)) *
                RowMetrics::at<B>(m.inverse_width, n);
        if constexpr (D == 3)
            sum += (shear_stress<A, C>(m, eddy + n + ac.b, ac, u + n + u_c, u_c, w + n + w_c, w_a,
                                       n, 1) -
                    shear_stress<A, C>(m, eddy + n, ac, u + n, u_c, w + n, w_a, n, 0)) *
                   RowMetrics::at<C>(m.inverse_width, n);
        out[n] += sum;
    }
}

/// Return the flux of a scalar along `A` through the face below cell `n` of a row, or above it.
template <std::size_t A>
double flux(const RowMetrics& m, const RowPointer& viscosity, const RowPointer& scalar,
            std::int64_t n, std::int64_t shift) {
    const double* here = scalar.value + n + shift * scalar.stride[A];
    const double* eddy = viscosity.value + n + shift * viscosity.stride[A];
    return at_face<A>(m, eddy, viscosity.stride[A], n, shift) *
           (here[0] - here[-scalar.stride[A]]) * RowMetrics::at<A>(m.inverse_distance, n, shift);
}

template <std::size_t A>
double diffusion(const RowMetrics& m, const RowPointer& viscosity, const RowPointer& scalar,
                 std::int64_t n) {
    return (flux<A>(m, viscosity, scalar, n, 1) - flux<A>(m, viscosity, scalar, n, 0)) *
           RowMetrics::at<A>(m.inverse_width, n);
}

template <std::size_t D>
void diffusion_row(const RowMetrics& metrics, const RowPointer& nu, const RowPointer& scalar,
                   double factor, std::int64_t size, double* __restrict out) {
    const RowMetrics m = metrics;
    const RowPointer viscosity = nu, s = scalar;
#pragma omp simd
    for (std::int64_t n = 0; n < size; ++n) {
        double sum = diffusion<0>(m, viscosity, s, n) + diffusion<1>(m, viscosity, s, n);
        if constexpr (D == 3)
            sum += diffusion<2>(m, viscosity, s, n);
        out[n] += factor * sum;
    }
}

} // namespace

void add_subgrid_stress(const FlowParameters& flow, const domain::Grid& grid,
                        const FlowBlock& block, const View<const double>& viscosity, std::size_t a,
                        const Box<3>& faces, const View<double>& derivative) {
    const auto add = [&]<std::size_t D, std::size_t A>() {
        for_rows(faces, [&](const Index<3>& first, std::int64_t size) {
            std::array<RowPointer, 3> velocity;
            for (std::size_t b = 0; b < D; ++b)
                velocity[b] = RowPointer(block.velocity[b], first);
            stress_row<D, A>(RowMetrics(grid, first), RowPointer(viscosity, first), velocity, size,
                             &derivative(first));
        });
    };
    if (flow.dimension == 2)
        a == 0 ? add.template operator()<2, 0>() : add.template operator()<2, 1>();
    else if (a == 0)
        add.template operator()<3, 0>();
    else
        a == 1 ? add.template operator()<3, 1>() : add.template operator()<3, 2>();
}

void add_subgrid_flux(const FlowParameters& flow, const domain::Grid& grid,
                      const View<const double>& scalar, const View<const double>& viscosity,
                      std::size_t a, const Box<3>& faces, const View<double>& fluxes) {
    const double factor = 1 / flow.subgrid.prandtl;
    const auto add = [&]<std::size_t A>() {
        for_rows(faces, [&](const Index<3>& first, std::int64_t size) {
            const RowMetrics metrics(grid, first);
            const RowPointer nu(viscosity, first), values(scalar, first);
            double* out = &fluxes(first);
            for (std::int64_t n = 0; n < size; ++n)
                out[n] += factor * flux<A>(metrics, nu, values, n, 0);
        });
    };
    if (a == 0)
        add.template operator()<0>();
    else
        a == 1 ? add.template operator()<1>() : add.template operator()<2>();
}

void add_subgrid_diffusion(const FlowParameters& flow, const domain::Grid& grid,
                           const FlowBlock& block, const View<const double>& viscosity,
                           std::size_t s, const Box<3>& cells, const View<double>& derivative) {
    const double factor = 1 / flow.subgrid.prandtl;
    for_rows(cells, [&](const Index<3>& first, std::int64_t size) {
        const RowMetrics metrics(grid, first);
        const RowPointer nu(viscosity, first), scalar(block.scalars[s], first);
        double* out = &derivative(first);
        if (flow.dimension == 2)
            diffusion_row<2>(metrics, nu, scalar, factor, size, out);
        else
            diffusion_row<3>(metrics, nu, scalar, factor, size, out);
    });
}

} // namespace uzushio::thermal
