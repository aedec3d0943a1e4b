#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "solvers/thermal/fluxes.hpp"

namespace uzushio::thermal {

/// Set the gains of the cells below a row of faces, per area: of diffusion less advection.
template <std::size_t A>
void flux_row(const RowMetrics& metrics, const RowPointer& scalar, const RowPointer& velocity,
              double diffusivity, std::int64_t size, double* __restrict out) {
    const RowMetrics m = metrics;
    const double* __restrict here = scalar.value;
    const double* __restrict u = velocity.value;
    const std::ptrdiff_t beside = scalar.stride[A];
#pragma omp simd
    for (std::int64_t n = 0; n < size; ++n)
        out[n] = through_face<VanLeer, A>(m, here + n, beside, u[n], diffusivity, n, 0);
}

/// Add `all` times a row of fluxes to the excess, and replace them by the upwind ones.
template <std::size_t A>
void upwind_row(const RowMetrics& metrics, const RowPointer& values, const RowPointer& velocity,
                double diffusivity, double all, std::int64_t size, double* __restrict flux,
                double* __restrict excess) {
    const RowMetrics m = metrics;
    const double* __restrict above = values.value;
    const double* __restrict below = above - values.stride[A];
    const double* __restrict u = velocity.value;
#pragma omp simd
    for (std::int64_t n = 0; n < size; ++n) {
        excess[n] += all * flux[n];
        const double difference = above[n] - below[n];
        flux[n] = diffusivity * difference * RowMetrics::at<A>(m.inverse_distance, n) -
                  (std::max(u[n], 0.0) * below[n] + std::min(u[n], 0.0) * above[n]);
    }
}

/// Sums of amounts that increase and decrease cells of a row, and bounds of their values.
struct RowBounds {
    std::vector<double> gain, loss, lower, upper;

    void begin(const double* __restrict start, const double* __restrict upwind, std::int64_t size) {
        for (std::vector<double>* values : {&gain, &loss, &lower, &upper})
            values->assign(static_cast<std::size_t>(size), 0.0);
        for (std::int64_t n = 0; n < size; ++n) {
            const auto at = static_cast<std::size_t>(n);
            lower[at] = std::min(start[n], upwind[n]);
            upper[at] = std::max(start[n], upwind[n]);
        }
    }
    /// Add the excess through both sides along an axis; `inverse` is 1 over the width of the cells,
    /// `step` its distance in memory for the next one.
    void add(const double* __restrict start, std::ptrdiff_t of_start,
             const double* __restrict upwind, std::ptrdiff_t of_upwind,
             const double* __restrict excess, std::ptrdiff_t of_excess,
             const double* __restrict inverse, std::ptrdiff_t step, std::int64_t size) {
        double* __restrict more = gain.data();
        double* __restrict less = loss.data();
        double* __restrict least = lower.data();
        double* __restrict most = upper.data();
#pragma omp simd
        for (std::int64_t n = 0; n < size; ++n) {
            const double above = excess[n + of_excess] * inverse[n * step];
            const double below = -excess[n] * inverse[n * step];
            more[n] += std::max(above, 0.0) + std::max(below, 0.0);
            less[n] -= std::min(above, 0.0) + std::min(below, 0.0);
            least[n] =
                std::min(std::min(least[n], std::min(start[n - of_start], start[n + of_start])),
                         std::min(upwind[n - of_upwind], upwind[n + of_upwind]));
            most[n] =
                std::max(std::max(most[n], std::max(start[n - of_start], start[n + of_start])),
                         std::max(upwind[n - of_upwind], upwind[n + of_upwind]));
        }
    }
};

/// Return the share of an amount that there is room for.
inline double share_of(double amount, double room) {
    return amount > std::max(room, 0.0) ? std::max(room, 0.0) / amount : 1.0;
}

} // namespace uzushio::thermal
