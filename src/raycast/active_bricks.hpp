#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "raycast/block.hpp"
#include "raycast/scene.hpp"

namespace uzushio::raycast {

/// Which bricks of a block may show anything.
struct ActiveBricks {
    /// Bricks of one size.
    struct Level {
        Index count{};
        /// For each brick a bit for it and those that follow it along x, y, z: bit
        /// dx + 2 dy + 4 dz is set where that one may show something. Three bytes follow the last.
        std::vector<std::uint8_t> following;
    };
    /// The bits of those that do not follow along x, y, z.
    static constexpr std::array<std::int32_t, 3> along_bits{0x55, 0x33, 0x0f};

    /// Each of bricks twice as long as the one before; the last has one. None if `any` is false or
    /// `all` is true.
    std::vector<Level> levels;
    bool any = false; ///< whether there is a brick that shows something
    bool all = false; ///< whether there is none that does not
};

/// For the iso-surfaces and volumes of a scene. Of a volume's segment only the two ends are
/// sampled; where these may lie farther apart than the next brick, a brick counts with all within
/// reach.
///
/// `field` tells the number in the block of a field of the scene.
ActiveBricks find_active_bricks(const Scene& scene, const Block& block,
                                const std::function<std::size_t(std::size_t)>& field, int threads);

} // namespace uzushio::raycast
