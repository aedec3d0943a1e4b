#include "raycast/cast_plan.hpp"

#include <algorithm>
#include <cmath>

namespace uzushio::raycast {

namespace {

/// Length in cells of a group of segments that is tested for empty space at once: half a brick; a
/// whole brick if all layers are surfaces, which are tested in the group's box of cells.
constexpr double group_cells = 2, surface_group_cells = 4;

/// Return whether a plane comes within a distance of a box.
bool meets(const Slice& slice, const Vector3& low, const Vector3& high, double distance) {
    double nearest = infinity, farthest = -infinity;
    for (int corner = 0; corner < 8; ++corner) {
        Vector3 point;
        for (std::size_t a = 0; a < 3; ++a)
            point[a] = (corner >> a) & 1 ? high[a] : low[a];
        const double at = dot(point - slice.origin, slice.normal);
        nearest = std::min(nearest, at);
        farthest = std::max(farthest, at);
    }
    const double reach = distance * norm(slice.normal);
    return nearest <= reach && farthest >= -reach;
}

/// Add the part of the picture in which a slice through a box may be visible.
void add_slice(ScreenFootprint& footprint, const Slice& slice, Vector3 low, Vector3 high,
               double step, double margin) {
    // A slice is drawn by the block that owns the middle of the segment.
    if (!meets(slice, low, high, step))
        return;
    for (std::size_t a = 0; a < 3; ++a) // a plane across an axis: only the box near it
        if (std::abs(slice.normal[a]) == norm(slice.normal)) {
            low[a] = std::max(low[a], slice.origin[a] - step);
            high[a] = std::min(high[a], slice.origin[a] + step);
        }
    footprint.add(low, high, margin);
}

std::size_t sampled_field_of(std::vector<SampledField>& sampled_fields, std::size_t field,
                             double shift) {
    for (std::size_t i = 0; i < sampled_fields.size(); ++i)
        if (sampled_fields[i].field == field)
            return i;
    sampled_fields.push_back({field, shift});
    return sampled_fields.size() - 1;
}

} // namespace

CastPlan::CastPlan(const Scene& s, const Camera& c, int w, int h,
                   std::span<const BlockSource> sources, int threads)
    : scene(s), camera(c), width(w), height(h), box_edges(s, c, w, h) {
    const auto clips = [&](bool clipped) { return clipped && !scene.half_spaces.empty(); };
    for (std::size_t i = 0; i < scene.layers.size(); ++i) {
        if (const auto* slice = std::get_if<Slice>(&scene.layers[i])) {
            Surface surface;
            surface.layer = i;
            surface.slice = slice;
            surface.clipped = clips(slice->clipped);
            slices.push_back(surface);
        } else if (const auto* iso = std::get_if<Isosurface>(&scene.layers[i])) {
            add_isosurface(i, *iso);
        } else if (const auto* volume = std::get_if<Volume>(&scene.layers[i])) {
            volumes.push_back(
                {i, volume,
                 sampled_field_of(sampled_fields, volume->field, volume->transfer->middle()),
                 clips(volume->clipped)});
        }
    }
    const auto clipped = [](const auto& layer) { return layer.clipped; };
    const auto count_clipped = [&](const auto& layers) {
        return static_cast<std::size_t>(std::count_if(layers.begin(), layers.end(), clipped));
    };
    const std::size_t count =
        count_clipped(slices) + count_clipped(isosurfaces) + count_clipped(volumes);
    clipping = count > 0;
    all_clipped = clipping && count == slices.size() + isosurfaces.size() + volumes.size();
    volumes_clipped = !volumes.empty() && count_clipped(volumes) == volumes.size();

    double cells = 0; // maximum length of a segment in cells
    for (const Axis& axis : scene.axes)
        cells = std::max(cells, scene.step * axis.cells() / (axis.high() - axis.low()));
    const double target = volumes.empty() ? surface_group_cells : group_cells;
    group_size = static_cast<std::int32_t>(std::clamp(target / cells, 1.0, 64.0));

    const double margin = 1 + (scene.bounding_box ? scene.line_width : 0); // pixels
    for (const auto& source : sources) {
        const Block& block = *source.block;
        if (block.empty())
            continue;
        Vector3 low, high;
        for (std::size_t a = 0; a < 3; ++a) {
            const auto points = scene.axes[a].points();
            low[a] = points[block.first_cell()[a]];
            high[a] = points[block.first_cell()[a] + block.cells()[a]];
        }
        VisibleBlock visible{
            Sampler(scene, block), {}, {}, {}, {}, ScreenFootprint(camera, width, height)};
        for (const std::size_t number : source.fields)
            visible.fields.push_back(&block.field(number));
        visible.any_nonfinite.resize(source.fields.size());
        for (const IsosurfaceField& group : isosurface_fields)
            visible.any_nonfinite[group.field] =
                block.bricks(source.fields[group.field], threads).any_nonfinite;
        for (const Surface& iso : isosurfaces)
            visible.crossed.add(*visible.fields[iso.field],
                                block.bricks(source.fields[iso.field], threads), block.points(),
                                iso.shift, iso.value, threads);
        if (marching())
            visible.active_bricks = find_active_bricks(
                scene, block, [&](std::size_t field) { return source.fields[field]; }, threads);
        if (visible.active_bricks.any || scene.bounding_box)
            visible.footprint.add(low, high, margin);
        else
            for (const Surface& surface : slices)
                add_slice(visible.footprint, *surface.slice, low, high, scene.step, margin);
        const PixelRect seen = visible.footprint.bounding_rect();
        if (seen.empty())
            continue;
        pixel_bounds = pixel_bounds.united(seen);
        blocks.push_back(std::move(visible));
    }
}

void CastPlan::add_isosurface(std::size_t layer, const Isosurface& iso) {
    const bool clipped = iso.clipped && !scene.half_spaces.empty();
    auto group = std::find_if(
        isosurface_fields.begin(), isosurface_fields.end(), [&](const IsosurfaceField& candidate) {
            return candidate.field == iso.field && candidate.clipped == clipped;
        });
    if (group == isosurface_fields.end())
        group = isosurface_fields.insert(group, {iso.field, iso.values.front(), clipped, {}});
    const bool opaque =
        iso.opacity >= 1 && (iso.colors == nullptr ? iso.color[3] >= 1 : iso.colors->opaque());
    for (const double value : iso.values) {
        Surface surface;
        surface.layer = layer;
        surface.iso = &iso;
        surface.field = iso.field;
        surface.shift = group->shift;
        surface.value = value;
        surface.opaque = opaque;
        surface.clipped = clipped;
        group->isosurfaces.push_back(isosurfaces.size());
        isosurfaces.push_back(surface);
    }
}

} // namespace uzushio::raycast
