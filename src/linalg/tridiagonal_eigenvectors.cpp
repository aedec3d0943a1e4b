#include "linalg/tridiagonal_eigenvectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace uzushio::linalg {

namespace {

/// Rotate two vectors: (a, b) becomes (c a + s b, c b - s a).
void rotate(double c, double s, std::size_t size, double* __restrict a, double* __restrict b) {
#pragma omp simd
    for (std::size_t i = 0; i < size; ++i) {
        const double before = a[i];
        a[i] = c * before + s * b[i];
        b[i] = c * b[i] - s * before;
    }
}

/// Return the eigenvalue of the last two rows of a block that is nearer to the last entry.
double shift_of(double above, double beside, double last) {
    const double half = 0.5 * (above - last);
    const double root = std::hypot(half, beside);
    return last - beside * beside / (half + std::copysign(root, half));
}

} // namespace

Eigenvectors eigenvectors_of(std::vector<double> diagonal, std::vector<double> beside) {
    const std::size_t n = diagonal.size();
    std::vector<double> vectors(n * n);
    for (std::size_t i = 0; i < n; ++i)
        vectors[i * n + i] = 1;
    std::vector<double>& d = diagonal;
    std::vector<double>& e = beside;
    const auto is_zero = [&](std::size_t i) {
        return std::abs(e[i]) <=
               std::numeric_limits<double>::epsilon() * (std::abs(d[i]) + std::abs(d[i + 1]));
    };
    std::size_t steps = 0;
    for (std::size_t last = n - 1; last > 0;) {
        if (is_zero(last - 1)) {
            --last;
            continue;
        }
        std::size_t first = last - 1; // of the block whose rows are coupled
        while (first > 0 && !is_zero(first - 1))
            --first;
        if (++steps > 60 * n)
            throw std::runtime_error("the eigenvalues of a tridiagonal matrix do not converge");
        double x = d[first] - shift_of(d[last - 1], e[last - 1], d[last]);
        double z = e[first];
        for (std::size_t k = first; k < last; ++k) {
            const double radius = std::hypot(x, z);
            const double c = radius > 0 ? x / radius : 1, s = radius > 0 ? z / radius : 0;
            if (k > first)
                e[k - 1] = radius;
            const double a = d[k], b = e[k], g = d[k + 1];
            d[k] = c * c * a + 2 * c * s * b + s * s * g;
            d[k + 1] = s * s * a - 2 * c * s * b + c * c * g;
            e[k] = c * s * (g - a) + (c * c - s * s) * b;
            if (k + 1 < last) {
                x = e[k];
                z = s * e[k + 1];
                e[k + 1] *= c;
            }
            rotate(c, s, n, &vectors[k * n], &vectors[(k + 1) * n]);
        }
    }
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return d[a] > d[b]; });
    Eigenvectors result;
    for (const std::size_t i : order) {
        result.values.push_back(d[i]);
        result.vectors.insert(result.vectors.end(), &vectors[i * n], &vectors[i * n] + n);
    }
    return result;
}

} // namespace uzushio::linalg
