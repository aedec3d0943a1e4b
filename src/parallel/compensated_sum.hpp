#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace uzushio::parallel {

/// Return `value`, protected from contraction into a fused multiply-add. GCC 12 ignores this in
/// vector loops if all uses can be fused: use `materialise` there.
[[nodiscard]] inline double unfused(double value) {
#if defined(__GNUC__) && !defined(__clang__)
    return __builtin_assoc_barrier(value);
#elif defined(__clang__)
    return __arithmetic_fence(value);
#else
    volatile double kept = value;
    return kept;
#endif
}

/// Force values to be rounded and stored. Error-free sums are wrong if a product is rounded in one
/// place and fused into the sum in another.
template <class Values> void materialise(Values& values) { asm volatile("" : "+m"(values)); }

/// Double-double number: unevaluated sum of two doubles.
struct DoubleDouble {
    double high = 0.0;
    double low = 0.0;
};

/// Add `term` and accumulate the rounding error (Knuth's TwoSum).
inline void add_term(double& high, double& low, double term) {
    const double sum = high + term;
    const double of_term = sum - high;
    low += (high - (sum - of_term)) + (term - of_term);
    high = sum;
}

/// Sum in double-double arithmetic, so that the rounded result is independent of the order of terms
/// in practice, and of the decomposition. Lanes are added as a vector.
class CompensatedSum {
  public:
    static constexpr int lanes = 8;
    static constexpr int batch = 64; ///< terms that are computed before they are added

    void add(double term) {
        materialise(term);
        add_term(high_[0], low_[0], term);
    }

    /// Add `term(i)` for i in [begin, end).
    template <class Term> void add(int begin, int end, Term&& term) {
        // Local vectors stay in registers; arrays do not.
        using Vector [[gnu::vector_size(lanes * sizeof(double))]] = double;
        Vector high, low, value;
        std::memcpy(&high, high_.data(), sizeof(high));
        std::memcpy(&low, low_.data(), sizeof(low));
        std::array<double, batch> terms;
        for (int i = begin; i < end; i += batch) {
            const int count = std::min(batch, end - i);
#pragma omp simd
            for (int j = 0; j < count; ++j)
                terms[static_cast<std::size_t>(j)] = term(i + j);
            // Pad to full lanes with zeros.
            for (int j = count; j % lanes != 0; ++j)
                terms[static_cast<std::size_t>(j)] = 0.0;
            materialise(terms);
            for (int j = 0; j < count; j += lanes) {
                std::memcpy(&value, terms.data() + j, sizeof(value));
                const Vector sum = high + value; // as `add_term`
                const Vector of_value = sum - high;
                low += (high - (sum - of_value)) + (value - of_value);
                high = sum;
            }
        }
        std::memcpy(high_.data(), &high, sizeof(high));
        std::memcpy(low_.data(), &low, sizeof(low));
    }

    void add(const CompensatedSum& other) {
        const DoubleDouble sum = other.folded();
        add_term(high_[0], low_[0], sum.high);
        add_term(high_[0], low_[0], sum.low);
    }

    [[nodiscard]] DoubleDouble folded() const;
    [[nodiscard]] double value() const { return folded().high; }
    void reset() { *this = {}; }

  private:
    std::array<double, lanes> high_{};
    std::array<double, lanes> low_{};
};

/// Return the sum over the ranks of `comm`, in rank order, identical on all ranks (collective).
[[nodiscard]] double sum_over_ranks(const CompensatedSum& sum, MPI_Comm comm);

/// Return the same without rounding, for partial sums (collective).
[[nodiscard]] DoubleDouble exact_sum_over_ranks(const CompensatedSum& sum, MPI_Comm comm);

/// Set `values[i]` to the sum of `sums[i]` over ranks, in one message (collective).
void sum_over_ranks(const CompensatedSum* sums, double* values, std::size_t count, MPI_Comm comm);

/// Sums over the ranks of a communicator that run while other work is done.
class PendingSums {
  public:
    /// Start (collective). Every object must be waited for.
    PendingSums(std::span<const CompensatedSum> sums, MPI_Comm comm);
    PendingSums(const PendingSums&) = delete;
    PendingSums& operator=(const PendingSums&) = delete;
    /// Return the sums, identical on all ranks.
    [[nodiscard]] std::vector<double> wait();

  private:
    std::vector<DoubleDouble> mine_, all_; ///< all_[rank][sum]
    MPI_Request request_ = MPI_REQUEST_NULL;
};

} // namespace uzushio::parallel
