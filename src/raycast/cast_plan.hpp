#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "raycast/active_bricks.hpp"
#include "raycast/block.hpp"
#include "raycast/box_edges.hpp"
#include "raycast/camera.hpp"
#include "raycast/crossed_cells.hpp"
#include "raycast/sampler.hpp"
#include "raycast/scene.hpp"
#include "raycast/screen_footprint.hpp"

namespace uzushio::raycast {

/// A field of volumes, which is sampled all along the rays, and what is taken from its values so
/// that they keep their digits as floats.
struct SampledField {
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
struct IsosurfaceField {
    std::size_t field = 0;
    double shift = 0;
    std::vector<std::size_t> isosurfaces;
};

/// A volume and the channel of its values.
struct VolumeLayer {
    std::size_t index = 0;
    const Volume* volume = nullptr;
    std::size_t sampled_field = 0;
};

/// A block as it is seen in one picture.
struct VisibleBlock {
    Sampler sampler;
    std::vector<const PointValues*> fields; ///< by number in the scene
    std::vector<bool> any_nonfinite;        ///< whether an iso-surface's field has such values
    ActiveBricks active_bricks;
    CrossedCells crossed; ///< by the iso-surfaces
    ScreenFootprint footprint;
};

/// A block, and for each field of the scene its number in the block.
struct BlockSource {
    const Block* block = nullptr;
    std::vector<std::size_t> fields;
};

/// All that is known before the first ray.
struct CastPlan {
    CastPlan(const Scene& scene, const Camera& camera, int width, int height,
             std::span<const BlockSource> sources, int threads);

    const Scene& scene;
    const Camera& camera;
    int width, height;
    std::vector<SampledField> sampled_fields;
    std::vector<Surface> slices;
    std::vector<Surface> isosurfaces; ///< one for each value
    std::vector<IsosurfaceField> isosurface_fields;
    std::vector<VolumeLayer> volumes;
    std::vector<VisibleBlock> blocks; ///< front to back, without those that cannot be seen
    PixelRect pixel_bounds;           ///< outside of which nothing is drawn
    BoxEdges box_edges;
    std::int32_t group_size = 1; ///< segments that are looked at together before they are drawn

    void add_isosurface(std::size_t layer, const Isosurface& iso);
    [[nodiscard]] bool marching() const { return !volumes.empty() || !isosurfaces.empty(); }
};

} // namespace uzushio::raycast
