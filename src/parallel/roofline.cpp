#include "parallel/roofline.hpp"

#include "parallel/aligned_array.hpp"
#include "parallel/min_seconds.hpp"

namespace uzushio::parallel {

namespace {

#if defined(__AVX512F__)
constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX__)
constexpr std::size_t vector_bytes = 32;
#else
constexpr std::size_t vector_bytes = 16;
#endif
using Vector [[gnu::vector_size(vector_bytes)]] = double;

constexpr int rounds = 1 << 16;
constexpr int chains = 10; ///< independent sums, enough for the latency of two units

/// Compute x = x a + b in registers, `rounds` times in each chain.
void multiply_and_add() {
    volatile double start = 0.5; // unknown to the compiler
    const Vector a = Vector{} + start, b = Vector{} + start;
    Vector x[chains];
    for (int chain = 0; chain < chains; ++chain)
        x[chain] = Vector{} + static_cast<double>(chain);
    for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 10
        for (int chain = 0; chain < chains; ++chain)
            x[chain] = x[chain] * a + b;
    }
    asm volatile("" : : "r"(&x[0]) : "memory"); // the compiler must not drop the loop
}

double sum(MPI_Comm comm, double rate) {
    MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_SUM, comm);
    return rate;
}

} // namespace

double triad_rate(MPI_Comm comm, std::size_t doubles, int repeats) {
    AlignedArray<double> a(doubles), b(doubles), c(doubles);
    const double seconds = min_seconds(comm, repeats, [&] {
        double* __restrict to = a.data();
        const double* __restrict x = b.data();
        const double* __restrict y = c.data();
        for (std::size_t i = 0; i < doubles; ++i)
            to[i] = x[i] + 3.0 * y[i];
        asm volatile("" : : "r"(to) : "memory"); // the compiler must not drop the loop
    });
    return sum(comm, 3.0 * sizeof(double) * static_cast<double>(doubles) / seconds);
}

double flop_rate(MPI_Comm comm, int repeats) {
    const double seconds = min_seconds(comm, repeats, multiply_and_add);
    constexpr double lanes = vector_bytes / sizeof(double);
    return sum(comm, 2.0 * rounds * chains * lanes / seconds);
}

} // namespace uzushio::parallel
