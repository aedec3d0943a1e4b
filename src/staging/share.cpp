#include "staging/share.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace uzushio::staging {
namespace {

/// Numbers of parts along z, y, x whose product is `parts`, with the least surface between them.
/// Tries all: there are few.
Extent cuts(const Extent& count, std::int64_t parts) {
    Extent best{parts, 1, 1};
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t pz = 1; pz <= parts; ++pz) {
        if (parts % pz != 0)
            continue;
        for (std::int64_t py = 1; py <= parts / pz; ++py) {
            if (parts / pz % py != 0)
                continue;
            const std::int64_t px = parts / pz / py;
            const auto nz = static_cast<double>(count[0]), ny = static_cast<double>(count[1]),
                       nx = static_cast<double>(count[2]);
            double surface = static_cast<double>(pz) * ny * nx + static_cast<double>(py) * nz * nx +
                             static_cast<double>(px) * nz * ny;
            if (pz > count[0] || py > count[1] || px > count[2])
                surface += std::numeric_limits<double>::max() / 4; // only if nothing else is left
            if (surface < least) {
                least = surface;
                best = {pz, py, px};
            }
        }
    }
    return best;
}

} // namespace

Box share(const Box& box, std::int64_t parts, std::int64_t index) {
    assert(parts >= 1 && index >= 0 && index < parts);
    const Extent number = cuts(box.count, parts);
    const Extent place{index / (number[1] * number[2]), index / number[2] % number[1],
                       index % number[2]};
    Box part = box;
    for (std::size_t a = 0; a < 3; ++a) {
        const std::int64_t base = box.count[a] / number[a], extra = box.count[a] % number[a];
        part.start[a] += place[a] * base + std::min(place[a], extra);
        part.count[a] = base + (place[a] < extra ? 1 : 0);
    }
    return part;
}

std::vector<std::vector<std::uint32_t>> share_blocks(const StepInfo& step, std::uint32_t topology,
                                                     std::uint32_t readers) {
    std::vector<std::uint32_t> blocks;
    std::vector<double> until{0};
    for (std::size_t b = 0; b < step.blocks.size(); ++b) {
        const Block& block = step.blocks[b];
        if (block.topology != topology)
            continue;
        const auto volume = std::max(block.vertices.volume(), std::int64_t{1});
        blocks.push_back(static_cast<std::uint32_t>(b));
        until.push_back(until.back() + static_cast<double>(volume));
    }
    std::vector<std::vector<std::uint32_t>> shares(readers);
    for (std::size_t i = 0; i < blocks.size() && readers > 0; ++i) {
        // A block goes where its middle lies in the total.
        const double middle = 0.5 * (until[i] + until[i + 1]) / until.back();
        const auto reader = static_cast<std::uint32_t>(middle * readers);
        shares[std::min(reader, readers - 1)].push_back(blocks[i]);
    }
    return shares;
}

} // namespace uzushio::staging
