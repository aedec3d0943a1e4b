#include "raycast/painter.hpp"

#include <algorithm>
#include <bit>

#include "raycast/crossing.hpp"
#include "raycast/light.hpp"

namespace uzushio::raycast {

namespace {

int count(Mask mask) { return std::popcount(bits_of(mask)); }

} // namespace

Painter::Painter(const Plan& plan, bool depth)
    : plan_(plan), depth_(depth), hits_(plan.scene.layers.size()), seen_(plan.scene.layers.size()),
      event_(plan.slices.size() + plan.isos.size()), before_(plan.channels.size()),
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
                      const std::vector<Floats>& slices) {
    bool found = plan_.isos.empty() ? false : find_crossings(part, rays, span);
    for (std::size_t i = 0; i < slices.size(); ++i) {
        const Mask here = rays & less(slices[i], floats(infinity));
        event_[i] = select(here, min(max(slices[i], span.begin), span.end), floats(infinity));
        found = found || any(here);
    }
    if (found)
        events(part, rays, span);
    else
        media(part, rays, span);
}

void Painter::slices(const Part& part, Mask rays, const std::vector<Floats>& slices) {
    std::copy(slices.begin(), slices.end(), event_.begin());
    events(part, rays, {floats(0), packet_->length, nullptr, nullptr});
}

bool Painter::find_crossings(const Part& part, Mask rays, const Span& span) {
    bool found = false;
    const std::size_t first = plan_.slices.size();
    for (std::size_t i = 0; i < plan_.isos.size(); ++i) {
        const Surface& iso = plan_.isos[i];
        const auto value =
            floats(static_cast<float>(iso.value - plan_.channels[iso.channel].shift));
        const Mask here = rays & crosses(span.first[iso.channel], span.second[iso.channel], value);
        event_[first + i] = floats(infinity);
        if (any(here)) {
            event_[first + i] =
                select(here, crossing(plan_, part, *packet_, iso, here, span), floats(infinity));
            found = true;
        }
    }
    return found;
}

/// Surfaces in a segment, nearest first, and the media between them.
void Painter::events(const Part& part, Mask rays, const Span& span) {
    const std::size_t slices = plan_.slices.size();
    Floats at = span.begin;
    std::copy_n(span.first, before_.size(), before_.data());
    while (any(rays)) {
        Floats until = span.end;
        Ints which = ints(-1);
        for (std::size_t i = 0; i < event_.size(); ++i) {
            const Mask nearer =
                less(event_[i], until) | (less_equal(event_[i], until) & equal(which, ints(-1)));
            until = select(nearer, event_[i], until);
            which = select(nearer, ints(static_cast<std::int32_t>(i)), which);
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
        for (std::size_t i = 0; i < event_.size(); ++i) {
            const Mask here = meets & equal(which, ints(static_cast<std::int32_t>(i)));
            if (!any(here))
                continue;
            surface(part, i < slices ? plan_.slices[i] : plan_.isos[i - slices], here, until);
            event_[i] = select(here, floats(infinity), event_[i]);
        }
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

void Painter::surface(const Part& part, const Surface& surface, Mask rays, Floats distance) {
    const Places at = part.sampler.places(*packet_, distance);
    const auto look_up = [&](const ColorTable& table, std::size_t field) {
        const double shift = table.middle();
        const Floats value = part.sampler.value(*part.fields[field], shift, at, rays);
        bad_pixels_ += count(rays & ~is_finite(value));
        return table(value, shift);
    };
    Colors colors;
    float opacity = 1;
    if (surface.slice != nullptr) {
        const Slice& slice = *surface.slice;
        colors = look_up(*slice.colors, slice.field);
        opacity = slice.opacity;
    } else {
        const Isosurface& iso = *surface.iso;
        if (iso.colors == nullptr)
            colors = {floats(iso.color[0]), floats(iso.color[1]), floats(iso.color[2]),
                      floats(iso.color[3])};
        else if (iso.color_field)
            colors = look_up(*iso.colors, *iso.color_field);
        else
            colors = (*iso.colors)(floats(static_cast<float>(surface.value - iso.colors->middle())),
                                   iso.colors->middle());
        if (iso.lighting)
            colors = lit(*iso.lighting, colors, part, iso.field,
                         plan_.channels[surface.channel].shift, at);
        opacity = iso.opacity;
    }
    colors.opacity *= opacity;
    saw(surface.layer, rays & less(floats(0), colors.opacity));
    blend(rays, colors, distance);
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
