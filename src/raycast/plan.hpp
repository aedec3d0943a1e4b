#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "raycast/activity.hpp"
#include "raycast/block.hpp"
#include "raycast/camera.hpp"
#include "raycast/edges.hpp"
#include "raycast/outline.hpp"
#include "raycast/sampler.hpp"
#include "raycast/scene.hpp"

namespace uzushio::raycast {

/// A field that is sampled all along the rays, and what is taken from its values so that they keep
/// their digits as floats.
struct Channel {
    std::size_t field = 0;
    double shift = 0;
};

/// A slice, or one value of an iso-surface: what a ray meets at a point.
struct Surface {
    std::size_t layer = 0;
    const Slice* slice = nullptr;
    const Isosurface* iso = nullptr;
    std::size_t channel = 0; ///< of an iso-surface
    double value = 0;        ///< of an iso-surface
};

/// A volume and the channel of its values.
struct Cloud {
    std::size_t layer = 0;
    const Volume* volume = nullptr;
    std::size_t channel = 0;
};

/// A block as it is seen in one picture.
struct Part {
    const Block* block;
    Sampler sampler;
    std::vector<const FieldView*> fields; ///< by number in the scene
    Activity activity;
    Outline outline;
};

/// A block, and for each field of the scene its number in the block.
struct Source {
    const Block* block = nullptr;
    std::vector<std::size_t> fields;
};

/// All that is known before the first ray.
struct Plan {
    Plan(const Scene& scene, const Camera& camera, int width, int height,
         std::span<const Source> blocks, int threads);

    const Scene& scene;
    const Camera& camera;
    int width, height;
    std::vector<Channel> channels;
    std::vector<Surface> slices;
    std::vector<Surface> isos; ///< one for each value
    std::vector<Cloud> clouds;
    std::vector<Part> parts; ///< front to back, without those that cannot be seen
    Screen screen;           ///< outside of which nothing is drawn
    Edges edges;
    std::int32_t stretch = 1; ///< segments that are passed over together, or not

    [[nodiscard]] bool marching() const { return !channels.empty(); }
};

} // namespace uzushio::raycast
