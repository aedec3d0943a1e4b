#pragma once

#include <cstdint>
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

/// Field of volumes, sampled along the rays. `shift` is subtracted from its values, so that they
/// keep their digits as floats.
struct SampledField {
    std::size_t field = 0;
    double shift = 0;
};

/// Slice, or one value of an iso-surface.
struct Surface {
    std::size_t layer = 0;
    const Slice* slice = nullptr;
    const Isosurface* iso = nullptr;
    std::size_t field = 0; ///< of an iso-surface
    double shift = 0;      ///< subtracted from the field's values
    double value = 0;      ///< of an iso-surface
    bool opaque = false;   ///< whether rays end at it
    bool clipped = false;
};

/// Iso-surfaces of one field, clipped or not, by index in the plan.
struct IsosurfaceField {
    std::size_t field = 0;
    double shift = 0;
    bool clipped = false;
    std::vector<std::size_t> isosurfaces;
};

/// Volume layer and the index of its sampled field.
struct VolumeLayer {
    std::size_t index = 0;
    const Volume* volume = nullptr;
    std::size_t sampled_field = 0;
    bool clipped = false;
};

/// Block in one picture, with the data that depend on scene and camera.
struct VisibleBlock {
    Sampler sampler;
    std::vector<const PointValues*> fields; ///< by index in the scene
    std::vector<bool> any_nonfinite;        ///< by index in the scene, for fields of iso-surfaces
    ActiveBricks active_bricks;
    CrossedCells crossed; ///< by iso-surfaces
    ScreenFootprint footprint;
};

/// Block, and the index in it of each field of the scene.
struct BlockSource {
    const Block* block = nullptr;
    std::vector<std::size_t> fields;
};

/// Everything about a picture that is computed before the first ray.
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
    std::vector<VisibleBlock> blocks; ///< front to back, visible ones only
    PixelRect pixel_bounds;           ///< nothing is drawn outside
    BoxEdges box_edges;
    std::int32_t group_size = 1;  ///< segments that are tested for empty space at once
    bool clipping = false;        ///< whether half spaces clip any layer
    bool all_clipped = false;     ///< whether they clip all layers
    bool volumes_clipped = false; ///< whether they clip all volumes, and there are any

    void add_isosurface(std::size_t layer, const Isosurface& iso);
    [[nodiscard]] bool marching() const { return !volumes.empty() || !isosurfaces.empty(); }
};

} // namespace uzushio::raycast
