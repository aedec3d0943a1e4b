#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "raycast/block.hpp"
#include "raycast/scene.hpp"

namespace uzushio::raycast {

/// Bricks of a block that may be visible, as a hierarchy of bit masks.
struct ActiveBricks {
    /// Bricks of one size.
    struct Level {
        Index count{};
        /// For each brick the bits of itself and of the bricks that follow it along x, y, z: bit dx
        /// + 2 dy + 4 dz is set if that brick may be visible. Three bytes of padding at the end.
        std::vector<std::uint8_t> following;
    };
    /// Masks of the bits without a step along x, y, z.
    static constexpr std::array<std::int32_t, 3> along_bits{0x55, 0x33, 0x0f};

    /// From fine to coarse, bricks twice as long at each level; the last has one brick. Empty if
    /// `any` is false or `all` is true.
    std::vector<Level> levels;
    bool any = false; ///< whether any brick may be visible
    bool all = false; ///< whether all bricks may be visible
};

/// Find the active bricks of a scene's iso-surfaces and volumes. A volume's segment is sampled only
/// at its two ends; where these can lie farther apart than the next brick, a brick includes the
/// values of all bricks within reach.
///
/// `field` maps the index of a field in the scene to its index in the block.
ActiveBricks find_active_bricks(const Scene& scene, const Block& block,
                                const std::function<std::size_t(std::size_t)>& field, int threads);

} // namespace uzushio::raycast
