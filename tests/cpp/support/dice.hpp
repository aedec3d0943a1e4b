#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "staging/datamodel/box.hpp"

/// Chance that a seed repeats.
namespace uzushio::staging::dice {

using Random = std::mt19937_64;

inline std::int64_t draw(Random& random, std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

/// Cut a box at random places into up to `parts` boxes.
inline std::vector<Box> cut(Random& random, const Box& box, std::int64_t parts) {
    std::vector<Box> boxes{box};
    for (int attempt = 0; std::ssize(boxes) < parts && attempt < 10 * parts; ++attempt) {
        const auto which = static_cast<std::size_t>(draw(random, 0, std::ssize(boxes) - 1));
        const auto axis = static_cast<std::size_t>(draw(random, 0, 2));
        Box upper = boxes[which];
        if (upper.count[axis] < 2)
            continue;
        const std::int64_t size = draw(random, 1, upper.count[axis] - 1);
        boxes[which].count[axis] = size;
        upper.start[axis] += size;
        upper.count[axis] -= size;
        boxes.push_back(upper);
    }
    return boxes;
}

} // namespace uzushio::staging::dice
