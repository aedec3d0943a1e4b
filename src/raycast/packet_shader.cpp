#include "raycast/packet_shader.hpp"

#include <algorithm>
#include <bit>

namespace uzushio::raycast {

namespace {

int count(Mask mask) { return std::popcount(bits_of(mask)); }

/// Return colours lit from the camera, with the field's gradient as normal; both sides alike.
Colors illuminated(const Lighting& lighting, Colors colors, const std::array<Floats, 3>& normal,
                   const std::array<Floats, 3>& view) {
    const Floats along = fma(normal[0], view[0], fma(normal[1], view[1], normal[2] * view[2]));
    const Floats square =
        fma(normal[0], normal[0], fma(normal[1], normal[1], normal[2] * normal[2]));
    const Floats cosine = min(abs(along) / max(sqrt(square), floats(1e-30F)), floats(1));
    const Floats matt = fma(cosine, floats(lighting.diffuse), floats(lighting.ambient));
    Floats gloss{};
    if (lighting.specular > 0)
        gloss = lighting.specular * exp2(lighting.power * log2(max(cosine, floats(1e-30F))));
    const auto shade = [&](Floats color) {
        return min(max(fma(color, matt, gloss), floats(0)), floats(1));
    };
    return {shade(colors.red), shade(colors.green), shade(colors.blue), colors.opacity};
}

} // namespace

PacketShader::PacketShader(const CastPlan& plan, bool depth)
    : plan_(plan), depth_(depth), hits_(plan.scene.layers.size()), seen_(plan.scene.layers.size()),
      finder_(plan), deferred_(plan.isosurfaces.size()), before_(plan.sampled_fields.size()),
      until_(plan.sampled_fields.size()) {}

void PacketShader::begin_packet(const RayPacket& packet, const ClipInterval* clip) {
    packet_ = &packet;
    clip_ = clip;
    pixels = {};
    std::fill(seen_.begin(), seen_.end(), no_lanes());
}

const PacketPixels& PacketShader::end_packet() {
    for (std::size_t i = 0; i < seen_.size(); ++i)
        hits_[i] += count(seen_[i]);
    return pixels;
}

void PacketShader::sample(const VisibleBlock& block, const SamplePositions& at, Mask rays,
                          Floats* values) const {
    for (std::size_t c = 0; c < plan_.sampled_fields.size(); ++c)
        values[c] = block.sampler.value(*block.fields[plan_.sampled_fields[c].field],
                                        plan_.sampled_fields[c].shift, at, rays);
}

void PacketShader::blend_line(Mask rays, const Rgba& color, Floats opacity, Floats distance) {
    const Mask seen = rays & less(floats(0), opacity) & pixels.unterminated();
    if (any(seen))
        blend(seen, {floats(color[0]), floats(color[1]), floats(color[2]), opacity * color[3]},
              distance);
}

void PacketShader::shade_segment(const VisibleBlock& block, Mask rays, const RaySegment& segment,
                                 const std::vector<Floats>& slices, bool may_cross) {
    crossings_.clear();
    if (may_cross)
        for (const IsosurfaceField& group : plan_.isosurface_fields)
            find_crossings(block, group, rays, segment);
    add_slices(slices, rays, segment);
    if (crossings_.empty())
        integrate_volumes(block, rays, segment);
    else
        shade_crossings(block, rays, segment);
}

void PacketShader::shade_slices(const VisibleBlock& block, Mask rays,
                                const std::vector<Floats>& slices) {
    const RaySegment whole{floats(0), packet_->length, nullptr, nullptr};
    crossings_.clear();
    add_slices(slices, rays, whole);
    shade_crossings(block, rays, whole);
}

void PacketShader::find_crossings(const VisibleBlock& block, const IsosurfaceField& group,
                                  Mask rays, const RaySegment& segment) {
    Floats begin = segment.begin, end = segment.end;
    if (group.clipped) {
        begin = max(begin, clip_->begin);
        end = min(end, clip_->end);
        rays = rays & clip_->any & less(begin, end);
        if (!any(rays))
            return;
    }
    finder_.find(block, *packet_, group, rays, begin, end, crossings_);
}

void PacketShader::add_slices(const std::vector<Floats>& slices, Mask rays,
                              const RaySegment& segment) {
    for (std::size_t i = 0; i < slices.size(); ++i) {
        const Mask here = rays & less(slices[i], floats(infinity));
        if (any(here))
            crossings_.push_back({i, select(here, min(max(slices[i], segment.begin), segment.end),
                                            floats(infinity))});
    }
}

/// Shade the surfaces in a segment, nearest first, and the volumes between them.
void PacketShader::shade_crossings(const VisibleBlock& block, Mask rays,
                                   const RaySegment& segment) {
    Floats at = segment.begin;
    std::copy_n(segment.first, before_.size(), before_.data());
    while (any(rays)) {
        Floats until = segment.end;
        Ints which = ints(-1), number = ints(-1);
        for (std::size_t i = 0; i < crossings_.size(); ++i) {
            const Floats here = crossings_[i].distance;
            const Mask nearer =
                less(here, until) | (less_equal(here, until) & equal(which, ints(-1)));
            until = select(nearer, here, until);
            which = select(nearer, ints(static_cast<std::int32_t>(i)), which);
            number = select(nearer, ints(static_cast<std::int32_t>(crossings_[i].surface)), number);
        }
        const Mask meets = rays & less_equal(ints(0), which);
        if (!plan_.volumes.empty()) {
            if (any(meets)) {
                sample(block, block.sampler.locate(*packet_, until), meets, until_.data());
                for (std::size_t c = 0; c < until_.size(); ++c)
                    until_[c] = select(meets, until_[c], segment.second[c]);
            } else {
                std::copy_n(segment.second, until_.size(), until_.data());
            }
            integrate_volumes(block, rays, {at, until, before_.data(), until_.data()});
            std::swap(before_, until_);
        }
        for (std::size_t i = 0; i < crossings_.size(); ++i)
            crossings_[i].distance = select(equal(which, ints(static_cast<std::int32_t>(i))),
                                            floats(infinity), crossings_[i].distance);
        for (std::size_t i = 0; i < plan_.slices.size() + plan_.isosurfaces.size(); ++i)
            if (const Mask here = meets & equal(number, ints(static_cast<std::int32_t>(i)));
                any(here))
                shade_surface(block, i, here, until);
        at = until;
        rays = meets & pixels.unterminated();
    }
}

/// Return the part of a segment in the clip interval. Where this cuts the segment, the field is
/// sampled at the cut, which lies within the segment: no further ghost points are needed.
ClippedSegment PacketShader::clip_segment(const VisibleBlock& block, const SampledField& field,
                                          Mask rays, const RaySegment& segment, Floats first,
                                          Floats second) const {
    ClippedSegment part;
    part.begin = max(segment.begin, clip_->begin);
    part.end = min(segment.end, clip_->end);
    part.rays = rays & clip_->any & less(part.begin, part.end);
    const auto resampled = [&](Mask cut, Floats distance, Floats value) {
        if (!any(cut))
            return value;
        const SamplePositions at = block.sampler.locate(*packet_, distance);
        return select(cut, block.sampler.value(*block.fields[field.field], field.shift, at, cut),
                      value);
    };
    part.first = resampled(part.rays & less(segment.begin, part.begin), part.begin, first);
    part.second = resampled(part.rays & less(part.end, segment.end), part.end, second);
    return part;
}

void PacketShader::integrate_volumes(const VisibleBlock& block, Mask rays,
                                     const RaySegment& segment) {
    if (plan_.volumes.empty())
        return;
    const Floats distance = segment.end - segment.begin;
    Floats extinction{};
    Floats nearest = plan_.volumes_clipped ? segment.end : segment.begin;
    Colors colors{};
    for (const VolumeLayer& layer : plan_.volumes) {
        const SampledField& field = plan_.sampled_fields[layer.sampled_field];
        const double shift = field.shift;
        Floats a = segment.first[layer.sampled_field], b = segment.second[layer.sampled_field];
        Floats begin = segment.begin, end = segment.end;
        Mask inside = rays;
        if (layer.clipped) { // only then in memory: registers otherwise
            const ClippedSegment part = clip_segment(block, field, rays, segment, a, b);
            begin = part.begin, end = part.end, a = part.first, b = part.second;
            inside = part.rays;
            nearest = select(inside, min(nearest, begin), nearest);
        }
        const OpticalProperties optics = (*layer.volume->transfer)(a, b, shift);
        const Mask visible = inside & less(floats(0), optics.extinction);
        mark_seen(layer.index, visible);
        Colors here{optics.red, optics.green, optics.blue, {}};
        if (layer.volume->shading && any(visible)) {
            const SamplePositions at = block.sampler.locate(*packet_, (begin + end) * 0.5F);
            here = lit(*layer.volume->shading, here, block, field.field, shift, at);
        }
        Floats own = optics.extinction * static_cast<float>(1 / layer.volume->unit_distance);
        if (layer.clipped)
            own = select(inside, own * ((end - begin) / distance), floats(0));
        colors.red = fma(own, here.red, colors.red);
        colors.green = fma(own, here.green, colors.green);
        colors.blue = fma(own, here.blue, colors.blue);
        extinction += own;
    }
    if (plan_.volumes.size() == 1 || any(less(floats(0), extinction))) {
        const Floats share = floats(1) / max(extinction, floats(1e-30F));
        colors.red *= share;
        colors.green *= share;
        colors.blue *= share;
    }
    const Floats remaining =
        select(rays, pixels.transmittance * exp2(-extinction * distance), pixels.transmittance);
    const Floats before = pixels.accumulate(pixels.transmittance - remaining, remaining, colors.red,
                                            colors.green, colors.blue);
    if (depth_)
        pixels.update_depth(rays, before, depth_of(nearest));
}

void PacketShader::shade_surface(const VisibleBlock& block, std::size_t number, Mask rays,
                                 Floats distance) {
    const std::size_t slices = plan_.slices.size();
    const Surface& surface =
        number < slices ? plan_.slices[number] : plan_.isosurfaces[number - slices];
    if (!surface.opaque) {
        const Colors colors = surface_color(block, surface, rays, distance);
        mark_seen(surface.layer, rays & less(floats(0), colors.opacity));
        blend(rays, colors, distance);
        return;
    }
    DeferredHits& deferred = deferred_[number - slices];
    deferred.rays = deferred.rays | rays;
    deferred.distance = select(rays, distance, deferred.distance);
    deferred.weight = select(rays, pixels.transmittance, deferred.weight);
    mark_seen(surface.layer, rays);
    const Floats before = pixels.transmittance;
    pixels.transmittance = select(rays, floats(0), before);
    if (depth_)
        pixels.update_depth(rays, before, depth_of(distance));
}

void PacketShader::shade_deferred(const VisibleBlock& block) {
    for (std::size_t i = 0; i < deferred_.size(); ++i) {
        DeferredHits& deferred = deferred_[i];
        if (!any(deferred.rays))
            continue;
        const Colors colors =
            surface_color(block, plan_.isosurfaces[i], deferred.rays, deferred.distance);
        const Floats weight = select(deferred.rays, deferred.weight, floats(0));
        pixels.accumulate(weight, pixels.transmittance, colors.red, colors.green, colors.blue);
        deferred.rays = no_lanes();
    }
}

Colors PacketShader::surface_color(const VisibleBlock& block, const Surface& surface, Mask rays,
                                   Floats distance) {
    const SamplePositions at = block.sampler.locate(*packet_, distance);
    const auto table_color = [&](const ColorTable& table, std::size_t field) {
        const double shift = table.middle();
        const Floats value = block.sampler.value(*block.fields[field], shift, at, rays);
        nonfinite_pixels_ += count(rays & ~is_finite(value));
        return table(value, shift);
    };
    if (surface.slice != nullptr) {
        Colors colors = table_color(*surface.slice->colors, surface.slice->field);
        colors.opacity *= surface.slice->opacity;
        return colors;
    }
    const Isosurface& iso = *surface.iso;
    Colors colors{floats(iso.color[0]), floats(iso.color[1]), floats(iso.color[2]),
                  floats(iso.color[3])};
    if (iso.colors != nullptr)
        colors =
            iso.color_field
                ? table_color(*iso.colors, *iso.color_field)
                : (*iso.colors)(floats(static_cast<float>(surface.value - iso.colors->middle())),
                                iso.colors->middle());
    if (iso.lighting)
        colors = lit(*iso.lighting, colors, block, iso.field, surface.shift, at);
    colors.opacity *= iso.opacity;
    return colors;
}

Colors PacketShader::lit(const Lighting& lighting, const Colors& colors, const VisibleBlock& block,
                         std::size_t field, double shift, const SamplePositions& at) const {
    return illuminated(lighting, colors, block.sampler.gradient(*block.fields[field], shift, at),
                       packet_->direction);
}

void PacketShader::blend(Mask rays, const Colors& colors, Floats distance) {
    const Floats weight = select(rays, pixels.transmittance * colors.opacity, floats(0));
    const Floats before = pixels.accumulate(weight, pixels.transmittance - weight, colors.red,
                                            colors.green, colors.blue);
    if (depth_)
        pixels.update_depth(rays, before, depth_of(distance));
}

} // namespace uzushio::raycast
