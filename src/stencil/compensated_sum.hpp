#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace uzushio::stencil {

/// A value that the compiler does not fuse with what uses it. In vector loops GCC 12 looks through
/// it where all uses can be fused: there, `take_as_they_are`.
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

/// Makes the compiler take values as they are in memory. Error-free sums break if a product is
/// rounded in one place and fused into the sum in another.
template <class Values> void take_as_they_are(Values& values) { asm volatile("" : "+m"(values)); }

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
    static constexpr int batch = 64; ///< terms that are made before they are added

    void add(double term) {
        take_as_they_are(term);
        add_term(high_[0], low_[0], term);
    }

    /// Adds `term(i)` for i in [begin, end).
    template <class Term> void add(int begin, int end, Term&& term) {
        // Lanes of its own, which the compiler keeps in registers.
        std::array<double, lanes> high = high_, low = low_;
        std::array<double, batch> terms;
        for (int i = begin; i < end; i += batch) {
            const int count = std::min(batch, end - i);
#pragma omp simd
            for (int j = 0; j < count; ++j)
                terms[static_cast<std::size_t>(j)] = term(i + j);
            // What is not a whole number of lanes gets zeros, which change nothing.
            for (int j = count; j % lanes != 0; ++j)
                terms[static_cast<std::size_t>(j)] = 0.0;
            take_as_they_are(terms);
            for (int j = 0; j < count; j += lanes)
#pragma omp simd
                for (int lane = 0; lane < lanes; ++lane)
                    add_term(high[static_cast<std::size_t>(lane)],
                             low[static_cast<std::size_t>(lane)],
                             terms[static_cast<std::size_t>(j + lane)]);
        }
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
