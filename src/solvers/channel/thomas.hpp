#pragma once

#include <span>

#include "solvers/channel/tridiagonal.hpp"

namespace uzushio::channel {

/// Operations of the functions below for one mode of one row.
inline constexpr double pivot_flops = 6, eliminate_flops = 3, substitute_flops = 2;

/// Compute the reciprocal pivots of row k for `count` modes, and its factors for the substitution.
/// `factor_below` are the factors of row k-1. All pointers are to the first of the modes.
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

/// Eliminate row k from one real right-hand side; `below` is that of row k-1.
inline void eliminate(double lower, const double* __restrict below, const double* __restrict pivot,
                      double* __restrict x, int count) {
#pragma omp simd
    for (int m = 0; m < count; ++m)
        x[m] = (x[m] - lower * below[m]) * pivot[m];
}

/// Substitute the solution `above`, of row k+1, into that of row k.
inline void substitute(const double* __restrict factor, const double* __restrict above,
                       double* __restrict x, int count) {
#pragma omp simd
    for (int m = 0; m < count; ++m)
        x[m] -= factor[m] * above[m];
}

/// Solve the system with shift 0 for one real right-hand side, on one rank: `x` becomes the
/// solution; `factors` is scratch of the same size. Call `each(k)` when x[k] is final, from the
/// last row to the first.
template <class Each>
void solve_one(const Rows& rows, std::span<double> x, std::span<double> factors, Each&& each) {
    for (std::size_t k = 0; k < x.size(); ++k) {
        const double lower = k > 0 ? rows.lower[k] : 0.0;
        const double pivot = 1.0 / (rows.diagonal[k] - (k > 0 ? lower * factors[k - 1] : 0.0));
        factors[k] = rows.upper[k] * pivot;
        x[k] = (x[k] - (k > 0 ? lower * x[k - 1] : 0.0)) * pivot;
    }
    for (std::size_t k = x.size(); k-- > 0;) {
        if (k + 1 < x.size())
            x[k] -= factors[k] * x[k + 1];
        each(k);
    }
}

} // namespace uzushio::channel
