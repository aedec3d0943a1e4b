#include "raycast/marcher.hpp"

#include <algorithm>

#include "raycast/empty_space.hpp"

namespace uzushio::raycast {

namespace {

/// Segments between two looks at the bricks, while there is something to see.
constexpr std::int32_t patience = 4;
/// The same in a block in which there is something to see everywhere.
constexpr std::int32_t long_patience = 32;

} // namespace

Marcher::Marcher(const Plan& plan, bool depth)
    : plan_(plan), step_(static_cast<float>(plan.scene.step)), painter_(plan, depth), burst_(plan),
      plane_(plan.slices.size()), plane_segment_(plan.slices.size()), here_(plan.slices.size()),
      front_(plan.channels.size()), back_(plan.channels.size()) {}

Pixels Marcher::draw(int column, int row) {
    const Packet packet(plan_.scene, plan_.camera, plan_.width, plan_.height, column, row);
    packet_ = &packet;
    painter_.begin(packet);
    for (std::size_t i = 0; i < plane_.size(); ++i)
        plane_[i] = packet.plane(plan_.slices[i].slice->origin, plan_.slices[i].slice->normal);
    const Lines lines(plan_.edges, packet, column, row);
    const auto line = [&](Mask rays, Floats opacity, Floats distance) {
        painter_.line(rays, *plan_.scene.bounding_box, opacity, distance);
    };
    for (const Part& part : plan_.parts) {
        if (!part.screen.meets(column, row, Packet::side))
            continue;
        if (lines.any) {
            line(packet.hits & part.sampler.owns(packet, floats(0)), lines.front, floats(0));
            line(packet.inside & ~packet.hits & part.sampler.owns(lines.position), lines.beside,
                 lines.distance - packet.enter);
        }
        if (plan_.marching())
            march(part);
        else
            cut(part);
        if (lines.any)
            line(packet.hits & part.sampler.owns(packet, packet.length), lines.back, packet.length);
    }
    return painter_.end();
}

/// Slices alone: each point belongs to the block in whose cells it is.
void Marcher::cut(const Part& part) {
    Mask rays = no_lane();
    for (std::size_t i = 0; i < plane_.size(); ++i) {
        const Mask mine = packet_->hits & less(plane_[i], floats(infinity)) &
                          painter_.pixels.open() & part.sampler.owns(*packet_, plane_[i]);
        here_[i] = select(mine, plane_[i], floats(infinity));
        rays = rays | mine;
    }
    if (any(rays))
        painter_.slices(part, rays, here_);
}

void Marcher::place_slices(const Owned& mine) {
    // A plane may be where the ray ends, and that at the end of a segment.
    const Floats whole = floor(packet_->length * (1 / step_));
    const Ints last = to_ints(select(less(whole * step_, packet_->length), whole, whole - 1));
    for (std::size_t i = 0; i < plane_.size(); ++i) {
        const Ints number = min(to_ints(min(plane_[i] * (1 / step_), floats(1e9F))), last);
        const Mask here = mine.any & less(plane_[i], floats(infinity)) &
                          less_equal(mine.first, number) & less_equal(number, mine.last);
        plane_segment_[i] = select(here, number, ints(never));
    }
}

std::int32_t Marcher::next_slice(std::int32_t from) const {
    Ints next = ints(never);
    for (const Ints segment : plane_segment_)
        next = min(next, select(less(segment, ints(from)), ints(never), segment));
    return least(next);
}

const std::vector<Floats>& Marcher::slices_in(std::int32_t segment) {
    for (std::size_t i = 0; i < plane_.size(); ++i)
        here_[i] = select(equal(plane_segment_[i], ints(segment)), plane_[i], floats(infinity));
    return here_;
}

void Marcher::march(const Part& part) {
    const Owned mine = find_owned(part, *packet_, painter_.pixels.open(), step_);
    if (!any(mine.any))
        return;
    place_slices(mine);
    const bool skips = !part.activity.all;
    const std::int32_t end = greatest(mine.last) + 1;
    std::int32_t k = least(mine.first);
    std::int32_t slice = next_slice(k);
    std::int32_t look = k;
    Mask alive = mine.any;
    Places places = part.sampler.places(*packet_, at(k));
    bool sampled = false;
    while (k < end) {
        alive = alive & less_equal(ints(k), mine.last);
        if (!any(alive))
            return;
        const Mask started = less_equal(mine.first, ints(k)) & alive;
        if (slice < k)
            slice = next_slice(k);
        if (skips && k >= look) {
            const Ints distance = brick_distance(part, places);
            look = k + patience;
            if (!any(started & equal(distance, ints(0)))) {
                const Ints limit =
                    select(started, free_until(part, *packet_, step_, places, distance),
                           select(alive, mine.first, ints(never)));
                const std::int32_t to = std::min(least(limit), slice);
                look = k + 1;
                if (to > k) {
                    look = k = to;
                    places = part.sampler.places(*packet_, at(std::min(k, end)));
                    sampled = false;
                    continue;
                }
                if (slice > k) {
                    const Places next = part.sampler.places(*packet_, at(k + 1));
                    if (!any(started & equal(brick_distance(part, next), ints(0)))) {
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
            painter_.sample(part, places, started, front_.data());
        sampled = true;
        if (burst_.possible() && slice > k &&
            burst_.draw(painter_, part, *packet_, mine, alive, k, std::min({look, slice, end}),
                        places, front_[0])) {
            alive = alive & painter_.pixels.open();
            continue;
        }
        const Places next = part.sampler.places(*packet_, at(k + 1));
        painter_.sample(part, next, mine.reaches(k + 1) & alive, back_.data());
        painter_.segment(part, mine.has(k) & alive, {at(k), at(k + 1), front_.data(), back_.data()},
                         slices_in(k));
        alive = alive & painter_.pixels.open();
        std::swap(front_, back_);
        places = next;
        ++k;
    }
}

} // namespace uzushio::raycast
