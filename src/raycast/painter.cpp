#include "raycast/painter.hpp"

#include <algorithm>
#include <bit>

#include "raycast/light.hpp"

namespace uzushio::raycast {

namespace {

int count(Mask mask) { return std::popcount(bits_of(mask)); }

} // namespace

Painter::Painter(const Plan& plan, bool depth)
    : plan_(plan), depth_(depth), hits_(plan.scene.layers.size()), seen_(plan.scene.layers.size()),
      finder_(plan), ended_(plan.isos.size()), before_(plan.channels.size()),
      until_(plan.channels.size()) {}

void Painter::begin(const Packet& packet) {
    packet_ = &packet;
    pixels = {};
    std::fill(seen_.begin(), seen_.end(), no_lane());
}

const Pixels& Painter::end() {
    for (std::size_t i = 0; i < seen_.size(); ++i)
        hits_[i] += count(seen_[i]);
    return pixels;
}

void Painter::sample(const Part& part, const Places& at, Mask rays, Floats* values) const {
    for (std::size_t c = 0; c < plan_.channels.size(); ++c)
        values[c] = part.sampler.value(*part.fields[plan_.channels[c].field],
                                       plan_.channels[c].shift, at, rays);
}

void Painter::line(Mask rays, const Rgba& color, Floats opacity, Floats distance) {
    const Mask seen = rays & less(floats(0), opacity) & pixels.open();
    if (any(seen))
        blend(seen, {floats(color[0]), floats(color[1]), floats(color[2]), opacity * color[3]},
              distance);
}

void Painter::segment(const Part& part, Mask rays, const Span& span,
                      const std::vector<Floats>& slices, bool isos) {
    crossings_.clear();
    if (isos)
        for (const IsoField& group : plan_.iso_fields)
            finder_.find(part, *packet_, group, rays, span.begin, span.end, crossings_);
    add_slices(slices, rays, span);
    if (crossings_.empty())
        media(part, rays, span);
    else
        events(part, rays, span);
}

void Painter::slices(const Part& part, Mask rays, const std::vector<Floats>& slices) {
    const Span whole{floats(0), packet_->length, nullptr, nullptr};
    crossings_.clear();
    add_slices(slices, rays, whole);
    events(part, rays, whole);
}

void Painter::add_slices(const std::vector<Floats>& slices, Mask rays, const Span& span) {
    for (std::size_t i = 0; i < slices.size(); ++i) {
        const Mask here = rays & less(slices[i], floats(infinity));
        if (any(here))
            crossings_.push_back(
                {i, select(here, min(max(slices[i], span.begin), span.end), floats(infinity))});
    }
}

/// Surfaces in a segment, nearest first, and the media between them.
void Painter::events(const Part& part, Mask rays, const Span& span) {
    Floats at = span.begin;
    std::copy_n(span.first, before_.size(), before_.data());
    while (any(rays)) {
        Floats until = span.end;
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
        if (!plan_.clouds.empty()) {
            if (any(meets)) {
                sample(part, part.sampler.places(*packet_, until), meets, until_.data());
                for (std::size_t c = 0; c < until_.size(); ++c)
                    until_[c] = select(meets, until_[c], span.second[c]);
            } else {
                std::copy_n(span.second, until_.size(), until_.data());
            }
            media(part, rays, {at, until, before_.data(), until_.data()});
            std::swap(before_, until_);
        }
        for (std::size_t i = 0; i < crossings_.size(); ++i)
            crossings_[i].distance = select(equal(which, ints(static_cast<std::int32_t>(i))),
                                            floats(infinity), crossings_[i].distance);
        for (std::size_t i = 0; i < plan_.slices.size() + plan_.isos.size(); ++i)
            if (const Mask here = meets & equal(number, ints(static_cast<std::int32_t>(i)));
                any(here))
                surface(part, i, here, until);
        at = until;
        rays = meets & pixels.open();
    }
}

void Painter::media(const Part& part, Mask rays, const Span& span) {
    if (plan_.clouds.empty())
        return;
    const Floats distance = span.end - span.begin;
    Floats extinction{};
    Colors colors{};
    for (const Cloud& cloud : plan_.clouds) {
        const Floats a = span.first[cloud.channel], b = span.second[cloud.channel];
        const double shift = plan_.channels[cloud.channel].shift;
        const Medium medium = (*cloud.volume->transfer)(a, b, shift);
        const Mask visible = rays & less(floats(0), medium.extinction);
        saw(cloud.layer, visible);
        Colors here{medium.red, medium.green, medium.blue, {}};
        if (cloud.volume->shading && any(visible)) {
            const Places at = part.sampler.places(*packet_, (span.begin + span.end) * 0.5F);
            here = lit(*cloud.volume->shading, here, part, plan_.channels[cloud.channel].field,
                       shift, at);
        }
        const Floats own = medium.extinction * static_cast<float>(1 / cloud.volume->unit_distance);
        colors.red = fma(own, here.red, colors.red);
        colors.green = fma(own, here.green, colors.green);
        colors.blue = fma(own, here.blue, colors.blue);
        extinction += own;
    }
    if (plan_.clouds.size() == 1 || any(less(floats(0), extinction))) {
        const Floats share = floats(1) / max(extinction, floats(1e-30F));
        colors.red *= share;
        colors.green *= share;
        colors.blue *= share;
    }
    const Floats remaining = select(rays, pixels.left * exp2(-extinction * distance), pixels.left);
    const Floats before =
        pixels.take(pixels.left - remaining, remaining, colors.red, colors.green, colors.blue);
    if (depth_)
        pixels.reach(rays, before, depth_of(span.begin));
}

void Painter::surface(const Part& part, std::size_t number, Mask rays, Floats distance) {
    const std::size_t slices = plan_.slices.size();
    const Surface& surface = number < slices ? plan_.slices[number] : plan_.isos[number - slices];
    if (!surface.opaque) {
        const Colors colors = color(part, surface, rays, distance);
        saw(surface.layer, rays & less(floats(0), colors.opacity));
        blend(rays, colors, distance);
        return;
    }
    Ended& ended = ended_[number - slices];
    ended.rays = ended.rays | rays;
    ended.distance = select(rays, distance, ended.distance);
    ended.weight = select(rays, pixels.left, ended.weight);
    saw(surface.layer, rays);
    const Floats before = pixels.left;
    pixels.left = select(rays, floats(0), before);
    if (depth_)
        pixels.reach(rays, before, depth_of(distance));
}

void Painter::finish(const Part& part) {
    for (std::size_t i = 0; i < ended_.size(); ++i) {
        Ended& ended = ended_[i];
        if (!any(ended.rays))
            continue;
        const Colors colors = color(part, plan_.isos[i], ended.rays, ended.distance);
        const Floats weight = select(ended.rays, ended.weight, floats(0));
        pixels.take(weight, pixels.left, colors.red, colors.green, colors.blue);
        ended.rays = no_lane();
    }
}

Colors Painter::color(const Part& part, const Surface& surface, Mask rays, Floats distance) {
    const Places at = part.sampler.places(*packet_, distance);
    const auto look_up = [&](const ColorTable& table, std::size_t field) {
        const double shift = table.middle();
        const Floats value = part.sampler.value(*part.fields[field], shift, at, rays);
        bad_pixels_ += count(rays & ~is_finite(value));
        return table(value, shift);
    };
    if (surface.slice != nullptr) {
        Colors colors = look_up(*surface.slice->colors, surface.slice->field);
        colors.opacity *= surface.slice->opacity;
        return colors;
    }
    const Isosurface& iso = *surface.iso;
    Colors colors{floats(iso.color[0]), floats(iso.color[1]), floats(iso.color[2]),
                  floats(iso.color[3])};
    if (iso.colors != nullptr)
        colors =
            iso.color_field
                ? look_up(*iso.colors, *iso.color_field)
                : (*iso.colors)(floats(static_cast<float>(surface.value - iso.colors->middle())),
                                iso.colors->middle());
    if (iso.lighting)
        colors = lit(*iso.lighting, colors, part, iso.field, surface.shift, at);
    colors.opacity *= iso.opacity;
    return colors;
}

Colors Painter::lit(const Lighting& lighting, const Colors& colors, const Part& part,
                    std::size_t field, double shift, const Places& at) const {
    return light(lighting, colors, part.sampler.gradient(*part.fields[field], shift, at),
                 packet_->direction);
}

void Painter::blend(Mask rays, const Colors& colors, Floats distance) {
    const Floats weight = select(rays, pixels.left * colors.opacity, floats(0));
    const Floats before =
        pixels.take(weight, pixels.left - weight, colors.red, colors.green, colors.blue);
    if (depth_)
        pixels.reach(rays, before, depth_of(distance));
}

} // namespace uzushio::raycast
