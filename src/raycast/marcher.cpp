#include "raycast/marcher.hpp"

#include <algorithm>
#include <bit>

namespace uzushio::raycast {

namespace {

/// What still shines through when a ray ends: less than half of 1/255 with several ranks.
constexpr float opaque = 1e-3F;
constexpr float opaque_enough = 0.5F; ///< for depth
/// Segments between two looks at the bricks, while there is something to see.
constexpr std::int32_t patience = 4;
/// The same in a block in which there is something to see everywhere.
constexpr std::int32_t long_patience = 32;

int count(Mask mask) { return std::popcount(bits_of(mask)); }

/// The lane, in all lanes, in which one of some rays has the least value.
Ints lowest_of(Mask rays, Floats values) {
    const Floats some = select(rays, values, floats(infinity));
    const unsigned bits = bits_of(equal(some, floats(least(some))));
    return ints(std::countr_zero(bits | 0x8000U));
}

} // namespace

Marcher::Marcher(const Plan& plan, bool depth)
    : plan_(plan), depth_(depth), step_(static_cast<float>(plan.scene.step)),
      hits_(plan.scene.layers.size()), seen_(plan.scene.layers.size()), plane_(plan.slices.size()),
      plane_segment_(plan.slices.size()), event_(plan.slices.size() + plan.isos.size()),
      front_(plan.channels.size()), back_(plan.channels.size()), before_(plan.channels.size()),
      until_(plan.channels.size()) {
    plain_ = plan.channels.size() == 1 && plan.clouds.size() <= 1 &&
             (plan.clouds.empty() || !plan.clouds.front().volume->shading);
    for (const Surface& iso : plan.isos)
        iso_values_.push_back(
            floats(static_cast<float>(iso.value - plan.channels[iso.channel].shift)));
}

Marcher::Pixels Marcher::draw(int column, int row) {
    const Packet packet(plan_.scene, plan_.camera, plan_.width, plan_.height, column, row);
    packet_ = &packet;
    pixels_ = {};
    std::fill(seen_.begin(), seen_.end(), no_lane());
    for (std::size_t i = 0; i < plane_.size(); ++i)
        plane_[i] = packet.plane(plan_.slices[i].slice->origin, plan_.slices[i].slice->normal);
    const bool edges = !plan_.edges.packet(column, row).empty();
    const Lines box = edges ? lines(column, row) : Lines{};
    for (const Part& part : plan_.parts) {
        if (!part.screen.meets(column, row, Packet::side))
            continue;
        if (edges) {
            draw_line(packet.hits & part.sampler.owns(packet, floats(0)), box.front, floats(0));
            draw_line(packet.inside & ~packet.hits & part.sampler.owns(box.position), box.beside,
                      box.distance - packet.enter);
        }
        if (plan_.marching())
            march(part);
        else
            cut(part);
        if (edges)
            draw_line(packet.hits & part.sampler.owns(packet, packet.length), box.back,
                      packet.length);
    }
    for (std::size_t i = 0; i < seen_.size(); ++i)
        hits_[i] += count(seen_[i]);
    return pixels_;
}

/// A ray meets edges where it enters the domain or leaves it: before, or after, all that it meets
/// in between. They belong to the block that has that point; beside the domain there is nothing
/// else.
Marcher::Lines Marcher::lines(int column, int row) const {
    alignas(64) std::array<std::array<float, lanes>, 7> all{};
    alignas(64) std::array<float, lanes> enter, length;
    store(enter.data(), packet_->enter);
    store(length.data(), packet_->length);
    const unsigned hits = bits_of(packet_->hits);
    for (const EdgePixel& pixel : plan_.edges.packet(column, row)) {
        const int i = pixel.lane;
        const bool beside = (hits >> i & 1U) == 0;
        const bool front = pixel.distance < enter[i] + length[i] / 2;
        float& opacity = all[beside ? 2 : front ? 0 : 1][i];
        opacity += (1 - opacity) * pixel.coverage;
        if (!beside)
            continue;
        for (std::size_t a = 0; a < 3; ++a)
            all[3 + a][i] = pixel.position[a];
        all[6][i] = pixel.distance;
    }
    return {load(all[0].data()),
            load(all[1].data()),
            load(all[2].data()),
            {load(all[3].data()), load(all[4].data()), load(all[5].data())},
            load(all[6].data())};
}

void Marcher::draw_line(Mask rays, Floats opacity, Floats distance) {
    const Rgba& color = *plan_.scene.bounding_box;
    const Mask seen = rays & less(floats(0), opacity) & less(floats(opaque), pixels_.left);
    if (any(seen))
        blend(seen, {floats(color[0]), floats(color[1]), floats(color[2]), opacity * color[3]},
              distance);
}

/// Slices alone: each point belongs to the block in whose cells it is.
void Marcher::cut(const Part& part) {
    Mask rays = no_lane();
    for (std::size_t i = 0; i < plane_.size(); ++i) {
        const Mask here = packet_->hits & less(plane_[i], floats(infinity)) &
                          less(floats(opaque), pixels_.left) &
                          part.sampler.owns(*packet_, plane_[i]);
        event_[i] = select(here, plane_[i], floats(infinity));
        rays = rays | here;
    }
    if (any(rays))
        events(part, rays, {floats(0), packet_->length, nullptr, nullptr});
}

Marcher::Owned Marcher::owned(const Part& part) const {
    const Packet& packet = *packet_;
    const Block& block = *part.block;
    Floats enter = floats(0), leave = packet.length;
    for (std::size_t a = 0; a < 3; ++a) {
        const auto edge = [&](std::int32_t point) {
            const Floats at = part.sampler.axis(a).edge(ints(point));
            return (at - packet.start[a]) * packet.inverse[a];
        };
        const Floats low = edge(block.first_cell()[a]);
        const Floats high = edge(block.first_cell()[a] + block.cells()[a]);
        enter = max(enter, min(low, high));
        leave = min(leave, max(low, high));
    }
    Owned result{no_lane(), ints(never), ints(-1)};
    const Mask rays =
        packet.hits & less(floats(opaque), pixels_.left) & less_equal(enter, leave + step_);
    if (!any(rays))
        return result;
    // The bounds are rounded; which of the segments nearby are the first and the last is found as
    // every block finds it.
    const auto middle = [&](Floats number) {
        const Floats begin = number * step_;
        return (begin + min(begin + step_, packet.length)) * 0.5F;
    };
    const Floats first = floor(enter * (1 / step_) + 0.5F);
    const Floats last = floor(leave * (1 / step_) - 0.5F);
    for (int i = -1; i <= 1; ++i) {
        const auto take = [&](Floats number) {
            const Mask mine = rays & less_equal(floats(0), number) &
                              less(number * step_, packet.length) &
                              part.sampler.owns(packet, middle(number));
            result.first = select(mine, min(result.first, to_ints(number)), result.first);
            result.last = select(mine, max(result.last, to_ints(number)), result.last);
            result.any = result.any | mine;
        };
        take(first + static_cast<float>(i));
        take(last + static_cast<float>(i));
    }
    return result;
}

Ints Marcher::bricks(const Part& part, const Places& at) const {
    const auto& activity = part.activity;
    const Ints number = (at.cell[0] >> Bricks::shift) +
                        activity.count[0] * ((at.cell[1] >> Bricks::shift) +
                                             activity.count[1] * (at.cell[2] >> Bricks::shift));
    return gather_bytes(activity.distance.data(), number);
}

/// The last segment before a ray leaves the bricks that are nearer than `distance` to its own.
Ints Marcher::free_until(const Part& part, const Places& at, Ints distance) const {
    Floats leave = floats(infinity);
    for (std::size_t a = 0; a < 3; ++a) {
        const std::int32_t last = part.block->points()[a] - 1;
        const Ints brick = at.cell[a] >> Bricks::shift;
        const Ints low = (brick - distance + 1) << Bricks::shift;
        const Ints high = (brick + distance) << Bricks::shift;
        const Mask up = less(floats(0), packet_->inverse[a]);
        const Ints point = select(up, high, low);
        const Mask ends = less(ints(0), point) & less(point, ints(last));
        const Ints inside = min(max(point, ints(0)), ints(last));
        const Floats edge = part.sampler.axis(a).edge(inside + part.block->first_point()[a]);
        const Floats until = (edge - packet_->start[a]) * packet_->inverse[a];
        leave = select(ends, min(leave, until), leave);
    }
    // A little earlier, so that rounding does no harm.
    const Floats number = floor(leave * (1 / step_) - 0.02F);
    return to_ints(min(number, floats(1e9F)));
}

void Marcher::sample(const Part& part, const Places& at, Mask rays, Floats* values) const {
    for (std::size_t c = 0; c < plan_.channels.size(); ++c)
        values[c] = part.sampler.value(*part.fields[plan_.channels[c].field],
                                       plan_.channels[c].shift, at, rays);
}

std::int32_t Marcher::next_event(std::int32_t from) const {
    Ints next = ints(never);
    for (const Ints segment : plane_segment_)
        next = min(next, select(less(segment, ints(from)), ints(never), segment));
    return least(next);
}

void Marcher::march(const Part& part) {
    const Owned mine = owned(part);
    if (!any(mine.any))
        return;
    // A plane may be where the ray ends, and that at the end of a segment.
    const Floats whole = floor(packet_->length * (1 / step_));
    const Ints last = to_ints(select(less(whole * step_, packet_->length), whole, whole - 1));
    for (std::size_t i = 0; i < plane_.size(); ++i) {
        const Ints number = min(to_ints(min(plane_[i] * (1 / step_), floats(1e9F))), last);
        const Mask here = mine.any & less(plane_[i], floats(infinity)) &
                          less_equal(mine.first, number) & less_equal(number, mine.last);
        plane_segment_[i] = select(here, number, ints(never));
    }
    const Floats length = packet_->length;
    const auto at = [&](std::int32_t number) {
        return min(floats(static_cast<float>(number) * step_), length);
    };
    const bool skips = !part.activity.all;
    const std::int32_t end = greatest(mine.last) + 1;
    std::int32_t k = least(mine.first);
    std::int32_t event = next_event(k);
    std::int32_t look = k;
    Mask alive = mine.any;
    Places places = part.sampler.places(*packet_, at(k));
    bool sampled = false;
    while (k < end) {
        alive = alive & less_equal(ints(k), mine.last);
        if (!any(alive))
            return;
        const Mask started = less_equal(mine.first, ints(k)) & alive;
        if (event < k)
            event = next_event(k);
        if (skips && k >= look) {
            const Ints distance = bricks(part, places);
            look = k + patience;
            if (!any(started & equal(distance, ints(0)))) {
                const Ints limit = select(started, free_until(part, places, distance),
                                          select(alive, mine.first, ints(never)));
                std::int32_t to = std::min(least(limit), event);
                look = k + 1;
                if (to > k) {
                    look = k = to;
                    places = part.sampler.places(*packet_, at(std::min(k, end)));
                    sampled = false;
                    continue;
                }
                if (event > k) {
                    const Places next = part.sampler.places(*packet_, at(k + 1));
                    if (!any(started & equal(bricks(part, next), ints(0)))) {
                        ++k;
                        places = next;
                        sampled = false;
                        continue;
                    }
                }
            }
        } else if (!skips) {
            look = k + long_patience;
        }
        if (!sampled)
            sample(part, places, started, front_.data());
        sampled = true;
        if (plain_ && event > k &&
            burst(part, mine, alive, k, std::min({look, event, end}), places)) {
            alive = alive & less(floats(opaque), pixels_.left);
            continue;
        }
        const Mask now = less_equal(mine.first, ints(k)) & less_equal(ints(k), mine.last) & alive;
        const Places next = part.sampler.places(*packet_, at(k + 1));
        const Mask there =
            less_equal(mine.first, ints(k + 1)) & less_equal(ints(k), mine.last) & alive;
        sample(part, next, there, back_.data());
        segment(part, now, k, {at(k), at(k + 1), front_.data(), back_.data()});
        alive = alive & less(floats(opaque), pixels_.left);
        std::swap(front_, back_);
        places = next;
        ++k;
    }
}

/// Segments from `number` on up to `end`, or to one in which there is a surface, quickly: all that
/// changes stays in registers. Returns whether it has come to the end.
bool Marcher::burst(const Part& part, const Owned& mine, Mask alive, std::int32_t& number,
                    std::int32_t end, Places& places) {
    const Channel& channel = plan_.channels.front();
    const FieldView& field = *part.fields[channel.field];
    const Floats length = packet_->length;
    // Rays hardly change places on their way: who is lowest once is so until the end, or else the
    // values are gathered.
    const Floats distance = min(floats((static_cast<float>(number) + 1) * step_), length);
    Sampler::Corner lowest;
    for (std::size_t a = 0; a < 3; ++a)
        lowest[a] = lowest_of(alive, packet_->position(a, distance));
    const auto corner = [&](const Places& at) {
        return Sampler::Corner{broadcast(at.cell[0], lowest[0]), broadcast(at.cell[1], lowest[1]),
                               broadcast(at.cell[2], lowest[2])};
    };
    const Cloud* const cloud = plan_.clouds.empty() ? nullptr : &plan_.clouds.front();
    const float unit = cloud == nullptr ? 0 : static_cast<float>(-1 / cloud->volume->unit_distance);
    Pixels pixels = pixels_;
    Mask seen = no_lane();
    Floats front = front_[0];
    std::int32_t k = number;
    for (bool surface = false; k < end; ++k) {
        const Mask rays = less_equal(mine.first, ints(k)) & less_equal(ints(k), mine.last) & alive;
        const Floats from = min(floats(static_cast<float>(k) * step_), length);
        const Floats to = min(floats(static_cast<float>(k + 1) * step_), length);
        const Places next = part.sampler.places(*packet_, to);
        const Mask there =
            less_equal(mine.first, ints(k + 1)) & less_equal(ints(k), mine.last) & alive;
        const Floats back = part.sampler.value(field, channel.shift, next, there, corner(next));
        for (const Floats value : iso_values_)
            surface = surface || any(rays & (less(front, value) ^ less(back, value)) &
                                     is_number(front + back));
        if (surface)
            break;
        if (cloud != nullptr) {
            const Medium medium = (*cloud->volume->transfer)(front, back, channel.shift);
            seen = seen | (rays & less(floats(0), medium.extinction));
            const Floats before = pixels.left;
            pixels.left =
                select(rays, before * exp2(medium.extinction * ((to - from) * unit)), before);
            const Floats weight = before - pixels.left;
            pixels.red = fma(weight, medium.red, pixels.red);
            pixels.green = fma(weight, medium.green, pixels.green);
            pixels.blue = fma(weight, medium.blue, pixels.blue);
            if (depth_)
                reached(pixels, before, rays, from);
        }
        front = back;
        places = next;
    }
    if (cloud != nullptr) {
        pixels_ = pixels;
        seen_[cloud->layer] = seen_[cloud->layer] | seen;
    }
    front_[0] = front;
    number = k;
    return k == end;
}

void Marcher::segment(const Part& part, Mask rays, std::int32_t number, const Span& span) {
    bool found = plan_.isos.empty() ? false : find_crossings(part, rays, span);
    for (std::size_t i = 0; i < plane_.size(); ++i) {
        const Mask here = rays & equal(plane_segment_[i], ints(number));
        event_[i] = select(here, min(max(plane_[i], span.begin), span.end), floats(infinity));
        found = found || any(here);
    }
    if (found)
        events(part, rays, span);
    else
        clouds(part, rays, span);
}

bool Marcher::find_crossings(const Part& part, Mask rays, const Span& span) {
    bool found = false;
    const std::size_t first = plane_.size();
    for (std::size_t i = 0; i < plan_.isos.size(); ++i) {
        const Surface& surface = plan_.isos[i];
        const Floats value =
            floats(static_cast<float>(surface.value - plan_.channels[surface.channel].shift));
        const Floats a = span.first[surface.channel], b = span.second[surface.channel];
        const Mask here = rays & (less(a, value) ^ less(b, value)) & is_number(a + b);
        event_[first + i] = floats(infinity);
        if (any(here)) {
            event_[first + i] = select(here, crossing(part, surface, here, span), floats(infinity));
            found = true;
        }
    }
    return found;
}

/// Where the field has the surface's value, between two samples on either side of it.
Floats Marcher::crossing(const Part& part, const Surface& surface, Mask rays,
                         const Span& span) const {
    const Channel& channel = plan_.channels[surface.channel];
    const auto value = static_cast<float>(surface.value - channel.shift);
    Floats low = span.begin, high = span.end;
    Floats at_low = span.first[surface.channel] - value;
    Floats at_high = span.second[surface.channel] - value;
    const auto meet = [&] { return low + (high - low) * (at_low / (at_low - at_high)); };
    // Regula falsi; an end that stays has its value halved (the Illinois variant).
    Mask kept = no_lane();
    for (int i = 0; i < 3; ++i) {
        const Floats guess = min(max(meet(), low), high);
        const Places at = part.sampler.places(*packet_, guess);
        const Floats there =
            part.sampler.value(*part.fields[channel.field], channel.shift, at, rays) - value;
        const Mask with_low = ~(less(there, floats(0)) ^ less(at_low, floats(0)));
        low = select(with_low, guess, low);
        at_low = select(with_low, there, at_low);
        high = select(with_low, high, guess);
        at_high = select(with_low, at_high, there);
        if (i > 0) {
            at_high = select(with_low & kept, at_high * 0.5F, at_high);
            at_low = select(~with_low & ~kept, at_low * 0.5F, at_low);
        }
        kept = with_low;
    }
    const Floats result = meet();
    return min(max(select(is_number(result), result, low), span.begin), span.end);
}

/// Surfaces in a segment, nearest first, and the clouds between them.
void Marcher::events(const Part& part, Mask rays, const Span& span) {
    const std::size_t slices = plane_.size();
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
            clouds(part, rays, {at, until, before_.data(), until_.data()});
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
        rays = meets & less(floats(opaque), pixels_.left);
    }
}

void Marcher::clouds(const Part& part, Mask rays, const Span& span) {
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
        seen_[cloud.layer] = seen_[cloud.layer] | visible;
        Colors here{medium.red, medium.green, medium.blue, {}};
        if (cloud.volume->shading && any(visible)) {
            const Places at = part.sampler.places(*packet_, (span.begin + span.end) * 0.5F);
            here = light(*cloud.volume->shading, here, part, plan_.channels[cloud.channel].field,
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
    const Floats before = pixels_.left;
    const Floats after = select(rays, before * exp2(-extinction * distance), before);
    const Floats weight = before - after;
    pixels_.red = fma(weight, colors.red, pixels_.red);
    pixels_.green = fma(weight, colors.green, pixels_.green);
    pixels_.blue = fma(weight, colors.blue, pixels_.blue);
    pixels_.left = after;
    if (depth_)
        reached(pixels_, before, rays, span.begin);
}

void Marcher::surface(const Part& part, const Surface& surface, Mask rays, Floats distance) {
    const Places at = part.sampler.places(*packet_, distance);
    const auto look_up = [&](const ColorTable& table, std::size_t field) {
        const double shift = table.middle();
        return table(part.sampler.value(*part.fields[field], shift, at, rays), shift);
    };
    Colors colors;
    float opacity = 1;
    if (surface.slice != nullptr) {
        const Slice& slice = *surface.slice;
        const double shift = slice.colors->middle();
        const Floats value = part.sampler.value(*part.fields[slice.field], shift, at, rays);
        nan_pixels_ += count(rays & ~is_number(value));
        colors = (*slice.colors)(value, shift);
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
            colors = light(*iso.lighting, colors, part, iso.field,
                           plan_.channels[surface.channel].shift, at);
        opacity = iso.opacity;
    }
    colors.opacity *= opacity;
    seen_[surface.layer] = seen_[surface.layer] | (rays & less(floats(0), colors.opacity));
    blend(rays, colors, distance);
}

Colors Marcher::light(const Lighting& lighting, Colors colors, const Part& part, std::size_t field,
                      double shift, const Places& at) const {
    const auto normal = part.sampler.gradient(*part.fields[field], shift, at);
    const auto& view = packet_->direction;
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

void Marcher::blend(Mask rays, const Colors& colors, Floats distance) {
    const Floats before = pixels_.left;
    const Floats weight = select(rays, before * colors.opacity, floats(0));
    pixels_.red = fma(weight, colors.red, pixels_.red);
    pixels_.green = fma(weight, colors.green, pixels_.green);
    pixels_.blue = fma(weight, colors.blue, pixels_.blue);
    pixels_.left = before - weight;
    if (depth_)
        reached(pixels_, before, rays, distance);
}

void Marcher::reached(Pixels& pixels, Floats before, Mask rays, Floats distance) const {
    const Mask now = rays & less(floats(1 - opaque_enough), before) &
                     less_equal(pixels.left, floats(1 - opaque_enough));
    pixels.depth = select(now, (packet_->enter + distance) * packet_->cosine, pixels.depth);
}

} // namespace uzushio::raycast
