#pragma once

#include "linalg/tridiagonal.hpp"

namespace uzushio::linalg {

/// Row k of the elimination for `count` modes: the reciprocal pivots, and the factors for the way
/// back. `factor_below` are the factors of row k-1; all pointers are to the first of the modes.
inline void eliminate_pivot(const Rows& rows, int k, const double* __restrict shift,
                            const double* __restrict factor_below, double* __restrict factor,
                            double* __restrict pivot, int count) {
    const auto i = static_cast<std::size_t>(k);
    const double lower = rows.lower[i];
    const double diagonal = rows.diagonal[i];
    const double weight = rows.weight[i];
    const double upper = rows.upper[i];
#pragma omp simd
    for (int m = 0; m < count; ++m) {
        pivot[m] = 1.0 / (diagonal + weight * shift[m] - lower * factor_below[m]);
        factor[m] = upper * pivot[m];
    }
}

/// Forward elimination of one real right-hand side in a row.
inline void eliminate(double lower, const double* __restrict below, const double* __restrict pivot,
                      double* __restrict x, int count) {
#pragma omp simd
    for (int m = 0; m < count; ++m)
        x[m] = (x[m] - lower * below[m]) * pivot[m];
}

/// Back substitution of one real unknown in a row.
inline void substitute(const double* __restrict factor, const double* __restrict above,
                       double* __restrict x, int count) {
#pragma omp simd
    for (int m = 0; m < count; ++m)
        x[m] -= factor[m] * above[m];
}

} // namespace uzushio::linalg
