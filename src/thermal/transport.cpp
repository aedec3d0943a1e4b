#include "thermal/transport.hpp"

#include "thermal/advected.hpp"

namespace uzushio::thermal {

namespace {

using domain::Box;
using domain::Index;
using domain::View;

template <class Scheme, std::size_t D>
void row(const RowMetrics& m, const std::array<RowPointer, 3>& velocity, const RowPointer& scalar,
         double diffusivity, std::int64_t size, double* __restrict out) {
    const double* __restrict s = scalar.value;
#pragma omp simd
    for (std::int64_t n = 0; n < size; ++n) {
        double sum = 0;
        for_other_axes<D, 3>([&](auto b) {
            constexpr std::size_t B = decltype(b)::value;
            const double* const here = s + n;
            const std::ptrdiff_t beside = scalar.stride[B];
            const double lower = velocity[B].value[n];
            const double upper = velocity[B].value[n + velocity[B].stride[B]];
            sum += (diffusivity *
                        ((here[beside] - here[0]) * RowMetrics::at<B>(m.inverse_distance, n, 1) -
                         (here[0] - here[-beside]) * RowMetrics::at<B>(m.inverse_distance, n)) -
                    (upper * Scheme::at_face(upper, here + beside, beside) -
                     lower * Scheme::at_face(lower, here, beside))) *
                   RowMetrics::at<B>(m.inverse_width, n);
        });
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
