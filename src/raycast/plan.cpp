#include "raycast/plan.hpp"

#include <algorithm>
#include <cmath>

namespace uzushio::raycast {

namespace {

/// Cells along the way that the scout looks at together: half a brick, and a whole one where there
/// are surfaces alone, which are then looked for in the box of these cells.
constexpr double stretch_cells = 2, stretch_cells_of_surfaces = 4;

/// Whether a plane may come as near to a box as this.
bool meets(const Slice& slice, const Vector3& low, const Vector3& high, double distance) {
    double least = infinity, greatest = -infinity;
    for (int corner = 0; corner < 8; ++corner) {
        Vector3 point;
        for (std::size_t a = 0; a < 3; ++a)
            point[a] = (corner >> a) & 1 ? high[a] : low[a];
        const double at = dot(point - slice.origin, slice.normal);
        least = std::min(least, at);
        greatest = std::max(greatest, at);
    }
    const double reach = distance * norm(slice.normal);
    return least <= reach && greatest >= -reach;
}

/// Where a slice through a box may be seen.
void add_slice(Outline& outline, const Slice& slice, Vector3 low, Vector3 high, double step,
               double margin) {
    // It is drawn by the block that has the middle of the segment which it is in.
    if (!meets(slice, low, high, step))
        return;
    for (std::size_t a = 0; a < 3; ++a) // of a plane across an axis, what is near to it
        if (std::abs(slice.normal[a]) == norm(slice.normal)) {
            low[a] = std::max(low[a], slice.origin[a] - step);
            high[a] = std::min(high[a], slice.origin[a] + step);
        }
    outline.add(low, high, margin);
}

std::size_t channel_of(std::vector<Channel>& channels, std::size_t field, double shift) {
    for (std::size_t i = 0; i < channels.size(); ++i)
        if (channels[i].field == field)
            return i;
    channels.push_back({field, shift});
    return channels.size() - 1;
}

} // namespace

Plan::Plan(const Scene& s, const Camera& c, int w, int h, std::span<const Source> blocks,
           int threads)
    : scene(s), camera(c), width(w), height(h), edges(s, c, w, h) {
    for (std::size_t i = 0; i < scene.layers.size(); ++i) {
        if (const auto* slice = std::get_if<Slice>(&scene.layers[i])) {
            Surface surface;
            surface.layer = i;
            surface.slice = slice;
            slices.push_back(surface);
        } else if (const auto* iso = std::get_if<Isosurface>(&scene.layers[i])) {
            add_isosurface(i, *iso);
        } else if (const auto* volume = std::get_if<Volume>(&scene.layers[i])) {
            clouds.push_back(
                {i, volume, channel_of(channels, volume->field, volume->transfer->middle())});
        }
    }

    double cells = 0; // that a segment may be long
    for (const Axis& axis : scene.axes)
        cells = std::max(cells, scene.step * axis.cells() / (axis.high() - axis.low()));
    const double wanted = clouds.empty() ? stretch_cells_of_surfaces : stretch_cells;
    stretch = static_cast<std::int32_t>(std::clamp(wanted / cells, 1.0, 64.0));

    const double margin = 1 + (scene.bounding_box ? scene.line_width : 0); // pixels
    for (const auto& source : blocks) {
        const Block& block = *source.block;
        if (block.empty())
            continue;
        Vector3 low, high;
        for (std::size_t a = 0; a < 3; ++a) {
            const auto points = scene.axes[a].points();
            low[a] = points[block.first_cell()[a]];
            high[a] = points[block.first_cell()[a] + block.cells()[a]];
        }
        Part part{&block, Sampler(scene, block), {}, {}, {}, {}, Outline(camera, width, height)};
        for (const std::size_t number : source.fields)
            part.fields.push_back(&block.field(number));
        part.any_bad.resize(source.fields.size());
        for (const IsoField& group : iso_fields)
            part.any_bad[group.field] = block.bricks(source.fields[group.field], threads).any_bad;
        for (const Surface& iso : isos)
            part.crossed.add(*part.fields[iso.field],
                             block.bricks(source.fields[iso.field], threads), block.points(),
                             iso.shift, iso.value, threads);
        if (marching())
            part.activity = find_activity(
                scene, block, [&](std::size_t field) { return source.fields[field]; }, threads);
        if (part.activity.any || scene.bounding_box)
            part.outline.add(low, high, margin);
        else
            for (const Surface& surface : slices)
                add_slice(part.outline, *surface.slice, low, high, scene.step, margin);
        const Screen seen = part.outline.screen();
        if (seen.empty())
            continue;
        screen = screen.with(seen);
        parts.push_back(std::move(part));
    }
}

void Plan::add_isosurface(std::size_t layer, const Isosurface& iso) {
    auto group = std::find_if(iso_fields.begin(), iso_fields.end(),
                              [&](const IsoField& some) { return some.field == iso.field; });
    if (group == iso_fields.end())
        group = iso_fields.insert(group, {iso.field, iso.values.front(), {}});
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
        group->isos.push_back(isos.size());
        isos.push_back(surface);
    }
}

} // namespace uzushio::raycast
