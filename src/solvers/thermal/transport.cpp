#include "solvers/thermal/transport.hpp"

#include "solvers/thermal/fluxes.hpp"

namespace uzushio::thermal {

namespace {

template <class Scheme, std::size_t D>
void row(const RowMetrics& metrics, const std::array<RowPointer, 3>& velocity,
         const RowPointer& scalar, double diffusivity, std::int64_t size, double* __restrict out) {
    const RowMetrics m = metrics;
    const double* __restrict s = scalar.value;
    const double* __restrict u = velocity[0].value;
    const double* __restrict v = velocity[1].value;
    const double* __restrict w = velocity[2].value;
    const auto [s_i, s_j, s_k] = scalar.stride;
    const std::ptrdiff_t u_i = velocity[0].stride[0], v_j = velocity[1].stride[1],
                         w_k = velocity[2].stride[2];
#pragma omp simd
    for (std::int64_t n = 0; n < size; ++n) {
        double sum = scalar_along<Scheme, 0>(m, s + n, s_i, u + n, u_i, diffusivity, n) +
                     scalar_along<Scheme, 1>(m, s + n, s_j, v + n, v_j, diffusivity, n);
        if constexpr (D == 3)
            sum += scalar_along<Scheme, 2>(m, s + n, s_k, w + n, w_k, diffusivity, n);
        out[n] = sum;
    }
}

template <class Scheme, std::size_t D>
void rows(const FlowParameters& flow, const domain::Grid& grid, const FlowBlock& block,
          std::size_t s, const Box<3>& cells, const View<double>& derivative) {
    for_rows(cells, [&](const Index<3>& first, std::int64_t size) {
        std::array<RowPointer, 3> velocity;
        for (std::size_t b = 0; b < D; ++b)
            velocity[b] = RowPointer(block.velocity[b], first);
        row<Scheme, D>(RowMetrics(grid, first), velocity, RowPointer(block.scalars[s], first),
                       flow.scalars[s].diffusivity, size, &derivative(first));
    });
}

} // namespace

void scalar_derivative(const FlowParameters& flow, const domain::Grid& grid, const FlowBlock& block,
                       std::size_t s, const Box<3>& cells, const View<double>& derivative) {
    for_scheme(flow, [&]<class Advected, std::size_t D>() {
        rows<Advected, D>(flow, grid, block, s, cells, derivative);
    });
}

} // namespace uzushio::thermal
