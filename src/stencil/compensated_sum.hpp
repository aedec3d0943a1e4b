#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace uzushio::stencil {

/// A value that the compiler may neither reorder nor fuse with what uses it. Error-free sums break
/// if a product is rounded in one use and not in the other.
[[nodiscard]] inline double as_it_is(double value) {
#if defined(__GNUC__) && !defined(__clang__)
    return __builtin_assoc_barrier(value);
#elif defined(__clang__)
    return __arithmetic_fence(value);
#else
    volatile double kept = value;
    return kept;
#endif
}

/// The unevaluated sum of two doubles, with twice the digits of one.
struct Double2 {
    double high = 0.0;
    double low = 0.0;
};

/// Adds `term` with its error kept (Knuth's two-sum).
inline void add_term(double& high, double& low, double term) {
    const double sum = high + term;
    const double of_term = sum - high;
    low += (high - (sum - of_term)) + (term - of_term);
    high = sum;
}

/// A sum with twice the digits of a double, so that the order of its terms hardly ever changes the
/// result: sums over any decomposition agree. Several lanes run side by side as a vector.
class CompensatedSum {
  public:
    static constexpr int lanes = 8;

    void add(double term) { add_term(high_[0], low_[0], as_it_is(term)); }

    /// Adds `term(i)` for i in [begin, end).
    template <class Term> void add(int begin, int end, Term&& term) {
        // Lanes of its own, which the compiler keeps in registers.
        std::array<double, lanes> high = high_, low = low_;
        int i = begin;
        for (; i + lanes <= end; i += lanes)
#pragma omp simd
            for (int lane = 0; lane < lanes; ++lane)
                add_term(high[lane], low[lane], as_it_is(term(i + lane)));
        for (int lane = 0; i < end; ++i, ++lane)
            add_term(high[lane], low[lane], as_it_is(term(i)));
        high_ = high;
        low_ = low;
    }

    void add(const CompensatedSum& other) {
        const Double2 sum = other.folded();
        add_term(high_[0], low_[0], sum.high);
        add_term(high_[0], low_[0], sum.low);
    }

    [[nodiscard]] Double2 folded() const;
    [[nodiscard]] double value() const { return folded().high; }
    void reset() { *this = {}; }

  private:
    std::array<double, lanes> high_{};
    std::array<double, lanes> low_{};
};

/// The sum over the ranks of `comm`, in their order, the same on all of them (collective).
[[nodiscard]] double sum_over_ranks(const CompensatedSum& sum, MPI_Comm comm);

/// The same, not yet rounded, for sums that are parts of a larger one.
[[nodiscard]] Double2 doubled_sum_over_ranks(const CompensatedSum& sum, MPI_Comm comm);

/// The same for several sums in one message: `values[i]` becomes the sum of `sums[i]`.
void sum_over_ranks(const CompensatedSum* sums, double* values, std::size_t count, MPI_Comm comm);

} // namespace uzushio::stencil
