#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "staging/datamodel/box.hpp"

/// Random numbers and boxes that are reproducible from a seed.
namespace uzushio::staging::seeded {

using Random = std::mt19937_64;

inline std::int64_t draw(Random& random, std::int64_t min, std::int64_t max) {
    return std::uniform_int_distribution<std::int64_t>(min, max)(random);
}

/// Cut a box at random positions into at most `parts` boxes.
inline std::vector<Box> cut(Random& random, const Box& box, std::int64_t parts) {
    std::vector<Box> boxes{box};
    for (int attempt = 0; std::ssize(boxes) < parts && attempt < 10 * parts; ++attempt) {
        const auto which = static_cast<std::size_t>(draw(random, 0, std::ssize(boxes) - 1));
        const auto axis = static_cast<std::size_t>(draw(random, 0, 2));
        const Box whole = boxes[which];
        if (whole.extent(axis) < 2)
            continue;
        const std::int64_t size = draw(random, 1, whole.extent(axis) - 1);
        const auto [below, above] = whole.split(axis, whole.lower[axis] + size);
        boxes[which] = below;
        boxes.push_back(above);
    }
    return boxes;
}

} // namespace uzushio::staging::seeded
