#include "thermal/transport.hpp"

#include "thermal/advected.hpp"

namespace uzushio::thermal {

namespace {

using domain::Box;
using domain::Index;
using domain::View;

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
double along_axis(const RowMetrics& m, const double* here, std::ptrdiff_t beside,
                  const double* velocity, std::ptrdiff_t up, double diffusivity, std::int64_t n) {
    return (through_face<Scheme, A>(m, here + beside, beside, velocity[up], diffusivity, n, 1) -
            through_face<Scheme, A>(m, here, beside, velocity[0], diffusivity, n, 0)) *
           RowMetrics::at<A>(m.inverse_width, n);
}

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
        double sum = along_axis<Scheme, 0>(m, s + n, s_i, u + n, u_i, diffusivity, n) +
                     along_axis<Scheme, 1>(m, s + n, s_j, v + n, v_j, diffusivity, n);
        if constexpr (D == 3)
            sum += along_axis<Scheme, 2>(m, s + n, s_k, w + n, w_k, diffusivity, n);
        out[n] = sum;
    }
}

template <class Scheme, std::size_t D>
void rows(const FlowParameters& flow, const std::array<AxisMetrics, 3>& axes,
          const FlowBlock& block, std::size_t s, const Box<3>& cells,
          const View<double>& derivative) {
    for (std::int64_t k = cells.lower[2]; k < cells.upper[2]; ++k)
        for (std::int64_t j = cells.lower[1]; j < cells.upper[1]; ++j) {
            const Index<3> first{cells.lower[0], j, k};
            std::array<RowPointer, 3> velocity;
            for (std::size_t b = 0; b < D; ++b)
                velocity[b] = RowPointer(block.velocity[b], first);
            row<Scheme, D>(RowMetrics(axes, first), velocity, RowPointer(block.scalars[s], first),
                           flow.scalars[s].diffusivity, cells.extent(0), &derivative(first));
        }
}

} // namespace

void scalar_derivative(const FlowParameters& flow, const std::array<AxisMetrics, 3>& axes,
                       const FlowBlock& block, std::size_t s, const Box<3>& cells,
                       const View<double>& derivative) {
    const bool central = flow.scheme == Scheme::central;
    if (flow.dimension == 2)
        central ? rows<Central, 2>(flow, axes, block, s, cells, derivative)
                : rows<VanLeer, 2>(flow, axes, block, s, cells, derivative);
    else
        central ? rows<Central, 3>(flow, axes, block, s, cells, derivative)
                : rows<VanLeer, 3>(flow, axes, block, s, cells, derivative);
}

} // namespace uzushio::thermal
