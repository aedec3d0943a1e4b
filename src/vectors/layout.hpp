#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace uzushio::vectors {

/// Between which an element may lie; infinite where nothing holds it.
struct Bounds {
    double low;
    double high;
};

/// How a vector of an optimiser lies on this rank: its part of a state, and behind it parameters,
/// which every rank holds and one of them counts.
struct Layout {
    std::size_t points;         ///< of the state, on this rank
    std::vector<Bounds> bounds; ///< of the state, then of each parameter
    bool counts_parameters;     ///< whether their products are part of this rank's sums
    int threads;                ///< that passes over the state may use

    [[nodiscard]] std::size_t size() const { return points + bounds.size() - 1; }
};

/// Elements [begin, begin + size) of a vector, which have the same bounds.
struct Block {
    /// Elements of a block at most: a dozen vectors' share of them stays in the first cache.
    static constexpr std::size_t most = 512;

    std::size_t begin;
    std::size_t size;
    Bounds bounds;
};

/// Whether an element may move: not where a bound holds it and the gradient pulls it there.
[[nodiscard]] inline bool is_free(double value, double slope, const Bounds& bounds) {
    return !((value <= bounds.low && slope > 0.0) || (value >= bounds.high && slope < 0.0));
}

/// Calls `body(block, found)` for all blocks of a vector, each once, on the layout's threads.
///
/// Each thread begins with a copy of `empty`; at the end they are added up by `add`, in the order
/// of threads. What is found of parameters that other ranks count goes nowhere.
template <class Found, class Body>
[[nodiscard]] Found over_blocks(const Layout& layout, const Found& empty, Body&& body) {
    const auto blocks =
        static_cast<std::ptrdiff_t>((layout.points + Block::most - 1) / Block::most);
    std::vector<Found> found(static_cast<std::size_t>(layout.threads), empty);
#pragma omp parallel for schedule(static, 1) num_threads(layout.threads) if (layout.threads > 1)
    for (int thread = 0; thread < layout.threads; ++thread) {
        Found mine = empty; // of its own: neighbours in memory would take turns
        const std::ptrdiff_t first = blocks * thread / layout.threads;
        const std::ptrdiff_t last = blocks * (thread + 1) / layout.threads;
        for (std::ptrdiff_t i = first; i < last; ++i) {
            const std::size_t begin = static_cast<std::size_t>(i) * Block::most;
            const std::size_t size = std::min(Block::most, layout.points - begin);
            body(Block{begin, size, layout.bounds.front()}, mine);
        }
        found[static_cast<std::size_t>(thread)] = std::move(mine);
    }
    Found total = std::move(found.front());
    for (std::size_t thread = 1; thread < found.size(); ++thread)
        total.add(found[thread]);
    Found elsewhere = empty;
    for (std::size_t i = 1; i < layout.bounds.size(); ++i)
        body(Block{layout.points + i - 1, 1, layout.bounds[i]},
             layout.counts_parameters ? total : elsewhere);
    return total;
}

} // namespace uzushio::vectors
