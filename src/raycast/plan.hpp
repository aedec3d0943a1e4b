#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "raycast/activity.hpp"
#include "raycast/block.hpp"
#include "raycast/camera.hpp"
#include "raycast/crossed_cells.hpp"
#include "raycast/edges.hpp"
#include "raycast/outline.hpp"
#include "raycast/sampler.hpp"
#include "raycast/scene.hpp"

namespace uzushio::raycast {

/// A field of volumes, which is sampled all along the rays, and what is taken from its values so
/// that they keep their digits as floats.
struct Channel {
    std::size_t field = 0;
    double shift = 0;
};

/// A slice, or one value of an iso-surface: what a ray meets at a point.
struct Surface {
    std::size_t layer = 0;
    const Slice* slice = nullptr;
    const Isosurface* iso = nullptr;
    std::size_t field = 0; ///< of an iso-surface
    double shift = 0;      ///< taken from its field's values so that they keep their digits
    double value = 0;      ///< of an iso-surface
    bool opaque = false;   ///< whether no ray goes on behind it
};

/// All iso-surfaces of one field, by number in the plan.
struct IsoField {
    std::size_t field = 0;
    double shift = 0;
    std::vector<std::size_t> isos;
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
    std::vector<bool> any_bad;            ///< whether an iso-surface's field has such values
    Activity activity;
    CrossedCells crossed; ///< by the iso-surfaces
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
    std::vector<IsoField> iso_fields;
    std::vector<Cloud> clouds;
    std::vector<Part> parts; ///< front to back, without those that cannot be seen
    Screen screen;           ///< outside of which nothing is drawn
    Edges edges;
    std::int32_t stretch = 1; ///< segments that are looked at together before they are drawn

    void add_isosurface(std::size_t layer, const Isosurface& iso);
    [[nodiscard]] bool marching() const { return !clouds.empty() || !isos.empty(); }
};

} // namespace uzushio::raycast
