#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "raycast/block.hpp"
#include "raycast/scene.hpp"

namespace uzushio::raycast {

/// Which bricks of a block may show anything, and how far from the nearest such brick the others
/// are.
struct Activity {
    Index count{};
    /// In bricks, along the axis on which it is farthest: 0 for a brick that may show something.
    /// Three bytes follow the last.
    std::vector<std::uint8_t> distance;
    bool any = false; ///< whether there is one that shows something
    bool all = false; ///< whether there is none that does not
};

/// For the iso-surfaces and volumes of a scene. Two samples of a segment lie within a step of each
/// other along each axis; where that may be farther than the next brick, a brick counts with all
/// that lie within reach.
///
/// `field` tells the number in the block of a field of the scene.
Activity find_activity(const Scene& scene, const Block& block,
                       const std::function<std::size_t(std::size_t)>& field, int threads);

} // namespace uzushio::raycast
