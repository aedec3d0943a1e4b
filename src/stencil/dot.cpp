#include "stencil/dot.hpp"

#include <cmath>

namespace uzushio::stencil {

void DotSum::add(const double* a, const double* b, std::size_t size, std::size_t prefetch) {
    // Two vectors of lanes hide the latency of additions; local copies stay in registers.
    std::array<double, lanes> high = high_, low = low_;
    std::size_t i = 0;
    for (; i + lanes <= size; i += lanes) {
        if (prefetch > 0)
            for (std::size_t line = 0; line < lanes; line += 8)
                __builtin_prefetch(a + i + line + prefetch);
#pragma omp simd
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const double product = parallel::unfused(a[i + lane] * b[i + lane]);
            low[lane] += std::fma(a[i + lane], b[i + lane], -product);
            parallel::add_term(high[lane], low[lane], product);
        }
    }
    high_ = high;
    low_ = low;
    for (; i < size; ++i) {
        const double product = parallel::unfused(a[i] * b[i]);
        rest_.add(product);
        rest_.add(std::fma(a[i], b[i], -product));
    }
}

void DotSum::add(const DotSum& other) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        parallel::add_term(high_[lane], low_[lane], other.high_[lane]);
        parallel::add_term(high_[lane], low_[lane], other.low_[lane]);
    }
    rest_.add(other.rest_);
}

parallel::DoubleDouble DotSum::folded() const {
    parallel::CompensatedSum sum = rest_;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        sum.add(high_[lane]);
        sum.add(low_[lane]);
    }
    return sum.folded();
}

parallel::DoubleDouble dot(const double* a, const double* b, std::size_t size) {
    DotSum sum;
    sum.add(a, b, size);
    return sum.folded();
}

} // namespace uzushio::stencil
