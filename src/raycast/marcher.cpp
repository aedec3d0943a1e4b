#include "raycast/marcher.hpp"

#include <algorithm>

namespace uzushio::raycast {

namespace {

/// Segments between two looks at whether all rays have ended.
constexpr std::int32_t patience = 32;

} // namespace

Marcher::Marcher(const Plan& plan, bool depth)
    : plan_(plan), painter_(plan, depth), burst_(plan), ends_(plan.scene),
      plane_(plan.slices.size()), plane_segment_(plan.slices.size()), here_(plan.slices.size()),
      front_(plan.channels.size()), back_(plan.channels.size()) {}

Pixels Marcher::draw(int column, int row) {
    if (std::none_of(plan_.parts.begin(), plan_.parts.end(),
                     [&](const Part& part) { return part.outline.meets(column, row); }))
        return {};
    const Packet packet(plan_.scene, plan_.camera, plan_.width, plan_.height, column, row);
    packet_ = &packet;
    painter_.begin(packet);
    if (plan_.marching() && any(packet.hits))
        ends_.cut(bounds_.emplace(packet));
    for (std::size_t i = 0; i < plane_.size(); ++i)
        plane_[i] = packet.plane(plan_.slices[i].slice->origin, plan_.slices[i].slice->normal);
    const Lines lines(plan_.edges, packet, column, row);
    const auto line = [&](Mask rays, Floats opacity, Floats distance) {
        painter_.line(rays, *plan_.scene.bounding_box, opacity, distance);
    };
    for (const Part& part : plan_.parts) {
        if (!part.outline.meets(column, row))
            continue;
        if (lines.any) {
            line(packet.hits & part.sampler.owns(packet, floats(0)), lines.front, floats(0));
            line(packet.inside & ~packet.hits & part.sampler.owns(lines.position), lines.beside,
                 lines.distance - packet.enter);
        }
        if (plan_.marching()) {
            march(part);
            painter_.finish(part);
        } else {
            cut(part);
        }
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
    const Ints end = ends_.holding(packet_->length);
    const Ints last = select(less(ends_.at(end), packet_->length), end, end - 1);
    for (std::size_t i = 0; i < plane_.size(); ++i) {
        const Ints number = min(ends_.holding(plane_[i]), last);
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

const std::vector<Floats>& Marcher::slices_in(std::int32_t begin, std::int32_t end) {
    for (std::size_t i = 0; i < plane_.size(); ++i) {
        const Mask inside =
            less_equal(ints(begin), plane_segment_[i]) & less(plane_segment_[i], ints(end));
        here_[i] = select(inside, plane_[i], floats(infinity));
    }
    return here_;
}

/// Surfaces of some segments together: where there is no volume, nothing is sampled in between.
void Marcher::march_surfaces(const Part& part, const Owned& mine, Mask& alive, std::int32_t begin,
                             std::int32_t end, bool isos) {
    const Mask rays = alive & less(mine.first, ints(end)) & less_equal(ints(begin), mine.last);
    const Floats from = min(ends_.at(max(mine.first, ints(begin))), packet_->length);
    const Floats to = min(ends_.at(min(mine.last + 1, ints(end))), packet_->length);
    if (any(rays))
        painter_.segment(part, rays, {from, to, nullptr, nullptr}, slices_in(begin, end), isos);
    alive = alive & painter_.pixels.open();
}

void Marcher::march(const Part& part) {
    const Owned mine = find_owned(part, *packet_, painter_.pixels.open(), ends_);
    if (!any(mine.any))
        return;
    place_slices(mine);
    std::optional<Scout> scout;
    if (!part.activity.all || !plan_.isos.empty())
        scout.emplace(plan_, part, *bounds_, ends_);
    const std::int32_t end = greatest(mine.last) + 1;
    std::int32_t k = least(mine.first);
    std::int32_t slice = next_slice(k);
    Scout::Stretch shows{k, scout ? k : end, false};
    Mask alive = mine.any;
    Places places{};
    bool sampled = false;
    while (k < end) {
        if (k >= shows.end)
            shows = scout->next(k, end);
        if (slice < k)
            slice = next_slice(k);
        if (const std::int32_t to = std::min(shows.begin, slice); to > k) {
            k = to;
            sampled = false;
        }
        alive = alive & less_equal(ints(k), mine.last);
        if (!any(alive))
            return;
        const bool isos = shows.surfaces && shows.begin <= k;
        if (plan_.clouds.empty()) {
            const std::int32_t until = shows.begin <= k ? shows.end : k + 1;
            march_surfaces(part, mine, alive, k, until, isos);
            k = until;
            continue;
        }
        if (!sampled) {
            places = part.sampler.places(*packet_, at(k));
            painter_.sample(part, places, mine.reaches(k) & alive, front_.data());
            sampled = true;
        }
        if (burst_.possible() && slice > k && !isos) {
            const std::int32_t until = std::min({shows.end, slice, k + patience});
            burst_.draw(painter_, part, *packet_, ends_, mine, alive, k, until, places, front_[0]);
            k = until;
        } else {
            const Places next = part.sampler.places(*packet_, at(k + 1));
            painter_.sample(part, next, mine.reaches(k + 1) & alive, back_.data());
            painter_.segment(part, mine.has(k) & alive,
                             {at(k), at(k + 1), front_.data(), back_.data()}, slices_in(k, k + 1),
                             isos);
            std::swap(front_, back_);
            places = next;
            ++k;
        }
        alive = alive & painter_.pixels.open();
    }
}

} // namespace uzushio::raycast
