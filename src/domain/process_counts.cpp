#include "domain/process_counts.hpp"

#include <algorithm>
#include <tuple>

#include "parallel/block.hpp"

namespace uzushio::domain {

std::int64_t surface_between(const Index<3>& cells, const PartCounts& counts,
                             const std::array<bool, 3>& periodic) {
    std::int64_t surface = 0;
    for (std::size_t a = 0; a < 3; ++a) {
        const std::int64_t cuts = counts[a] > 1 ? counts[a] - (periodic[a] ? 0 : 1) : 0;
        surface += cuts * cells[(a + 1) % 3] * cells[(a + 2) % 3];
    }
    return surface;
}

PartCounts min_surface_counts(const Index<3>& cells, int parts,
                              const std::array<bool, 3>& periodic) {
    PartCounts best{};
    std::tuple<std::int64_t, std::int64_t, std::int64_t, int, int> least{};
    for (int i = 1; i <= parts; ++i)
        for (int j = 1; parts % i == 0 && j <= parts / i; ++j) {
            if (parts / i % j != 0)
                continue;
            const PartCounts counts{i, j, parts / i / j};
            std::int64_t largest = 1, edges = 0;
            for (std::size_t a = 0; a < 3; ++a) {
                const std::int64_t extent =
                    counts[a] > cells[a] ? 0 : (cells[a] + counts[a] - 1) / counts[a];
                largest *= extent;
                edges += extent;
            }
            if (largest == 0)
                continue;
            const auto cost =
                std::tuple(surface_between(cells, counts, periodic), largest, edges, i, j);
            if (best[0] == 0 || cost < least) {
                best = counts;
                least = cost;
            }
        }
    return best;
}

Box<3> part_box(const Box<3>& all, const PartCounts& counts, int number, const Index<3>& units) {
    Box<3> part;
    for (std::size_t a = 0; a < 3; ++a) {
        const auto size = static_cast<int>((all.extent(a) + units[a] - 1) / units[a]);
        const auto range = parallel::block(size, counts[a], number % counts[a]);
        number /= counts[a];
        part.lower[a] = std::min(all.lower[a] + units[a] * range.begin, all.upper[a]);
        part.upper[a] = std::min(all.lower[a] + units[a] * range.end, all.upper[a]);
    }
    return part;
}

} // namespace uzushio::domain
