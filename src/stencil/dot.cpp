#include "stencil/dot.hpp"

#include <array>
#include <cmath>

namespace uzushio::stencil {

Double2 dot(const double* a, const double* b, std::size_t size) {
    // Two vectors of lanes: one sum would wait for its own last addition.
    constexpr std::size_t lanes = 16;
    std::array<double, lanes> high{}, low{};
    std::size_t i = 0;
    for (; i + lanes <= size; i += lanes)
#pragma omp simd
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const double product = as_it_is(a[i + lane] * b[i + lane]);
            low[lane] += std::fma(a[i + lane], b[i + lane], -product);
            add_term(high[lane], low[lane], product);
        }
    CompensatedSum rest;
    for (; i < size; ++i) {
        const double product = as_it_is(a[i] * b[i]);
        rest.add(product);
        rest.add(std::fma(a[i], b[i], -product));
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        rest.add(high[lane]);
        rest.add(low[lane]);
    }
    return rest.folded();
}

} // namespace uzushio::stencil
