#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace uzushio::vectors {

/// Bounds of an element; infinite if it is unbounded.
struct Bounds {
    double low;
    double high;
};

/// Layout of an optimiser's vector on this rank: its part of a state, followed by the parameters,
/// which every rank stores and one rank adds to sums.
struct VectorLayout {
    std::size_t points;         ///< of the state, on this rank
    std::vector<Bounds> bounds; ///< of the state, then of each parameter
    bool counts_parameters;     ///< whether this rank adds them to its sums
    int threads;                ///< of passes over the state

    [[nodiscard]] std::size_t size() const { return points + bounds.size() - 1; }
};

/// Elements [begin, begin + size) of a vector, which have the same bounds.
struct VectorBlock {
    /// Maximum size: blocks of a dozen vectors fit the L1 cache.
    static constexpr std::size_t max_size = 512;

    std::size_t begin;
    std::size_t size;
    Bounds bounds;
};

/// Whether an element is free: not at a bound with the descent direction pointing beyond it.
[[nodiscard]] inline bool is_free(double value, double slope, const Bounds& bounds) {
    return !((value <= bounds.low && slope > 0.0) || (value >= bounds.high && slope < 0.0));
}

/// Call `body(block, partial)` for each block of a vector on the layout's threads; return the sum
/// of the partial results.
///
/// Each thread starts with a copy of `empty`; partial results are combined with `add`, in the order
/// of threads. Results of parameters that another rank counts are discarded.
template <class Partial, class Body>
[[nodiscard]] Partial reduce_blocks(const VectorLayout& layout, const Partial& empty, Body&& body) {
    const auto blocks = static_cast<std::ptrdiff_t>((layout.points + VectorBlock::max_size - 1) /
                                                    VectorBlock::max_size);
    std::vector<Partial> partial(static_cast<std::size_t>(layout.threads), empty);
#pragma omp parallel for schedule(static, 1) num_threads(layout.threads) if (layout.threads > 1)
    for (int thread = 0; thread < layout.threads; ++thread) {
        Partial mine = empty; // local to avoid false sharing
        const std::ptrdiff_t first = blocks * thread / layout.threads;
        const std::ptrdiff_t last = blocks * (thread + 1) / layout.threads;
        for (std::ptrdiff_t i = first; i < last; ++i) {
            const std::size_t begin = static_cast<std::size_t>(i) * VectorBlock::max_size;
            const std::size_t size = std::min(VectorBlock::max_size, layout.points - begin);
            body(VectorBlock{begin, size, layout.bounds.front()}, mine);
        }
        partial[static_cast<std::size_t>(thread)] = std::move(mine);
    }
    Partial total = std::move(partial.front());
    for (std::size_t thread = 1; thread < partial.size(); ++thread)
        total.add(partial[thread]);
    Partial discarded = empty;
    for (std::size_t i = 1; i < layout.bounds.size(); ++i)
        body(VectorBlock{layout.points + i - 1, 1, layout.bounds[i]},
             layout.counts_parameters ? total : discarded);
    return total;
}

} // namespace uzushio::vectors
