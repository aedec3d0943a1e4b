#include "raycast/ray_marcher.hpp"

#include <algorithm>

namespace uzushio::raycast {

namespace {

/// Segments between two tests whether all rays have ended.
constexpr std::int32_t segments_per_exit_test = 32;
/// Distance from the plane of a half space, in steps, at which a slice lies in it.
constexpr float clip_tolerance = 1e-3F;

} // namespace

RayMarcher::RayMarcher(const CastPlan& plan, bool depth)
    : plan_(plan), shader_(plan, depth), fast_path_(plan), ends_(plan.scene),
      plane_distance_(plan.slices.size()), plane_segment_(plan.slices.size()),
      here_(plan.slices.size()), front_(plan.sampled_fields.size()),
      back_(plan.sampled_fields.size()) {}

PacketPixels RayMarcher::draw(int column, int row) {
    if (std::none_of(plan_.blocks.begin(), plan_.blocks.end(), [&](const VisibleBlock& block) {
            return block.footprint.overlaps(column, row);
        }))
        return {};
    const RayPacket packet(plan_.scene, plan_.camera, plan_.width, plan_.height, column, row);
    packet_ = &packet;
    if (plan_.clipping)
        clip_.emplace(plan_.scene, packet);
    shader_.begin_packet(packet, clip_ ? &*clip_ : nullptr);
    if (plan_.marching() && any(packet.hits)) {
        ends_.compute(bounds_.emplace(packet));
        if (clip_)
            clip_->find_segments(packet, ends_);
    }
    measure_slices();
    const PacketEdges edges(plan_.box_edges, packet, column, row);
    const auto line = [&](Mask rays, Floats opacity, Floats distance) {
        shader_.blend_line(rays, *plan_.scene.bounding_box, opacity, distance);
    };
    for (const VisibleBlock& block : plan_.blocks) {
        if (!block.footprint.overlaps(column, row))
            continue;
        if (edges.any) {
            line(packet.hits & block.sampler.owns(packet, floats(0)), edges.front, floats(0));
            line(packet.inside & ~packet.hits & block.sampler.owns(edges.position), edges.beside,
                 edges.distance - packet.enter);
        }
        if (plan_.marching()) {
            march(block);
            shader_.shade_deferred(block);
        } else {
            draw_slices(block);
        }
        if (edges.any)
            line(packet.hits & block.sampler.owns(packet, packet.length), edges.back,
                 packet.length);
    }
    return shader_.end_packet();
}

void RayMarcher::measure_slices() {
    for (std::size_t i = 0; i < plane_distance_.size(); ++i) {
        const Surface& surface = plan_.slices[i];
        Floats& distance = plane_distance_[i];
        distance = packet_->plane(surface.slice->origin, surface.slice->normal);
        if (surface.clipped)
            distance = select(clip_->contains(distance, clip_tolerance * ends_.step()), distance,
                              floats(infinity));
    }
}

/// Draw slices only: each point belongs to the block that owns its cell.
void RayMarcher::draw_slices(const VisibleBlock& block) {
    Mask rays = no_lanes();
    for (std::size_t i = 0; i < plane_distance_.size(); ++i) {
        const Mask owned = packet_->hits & less(plane_distance_[i], floats(infinity)) &
                           shader_.pixels.unterminated() &
                           block.sampler.owns(*packet_, plane_distance_[i]);
        here_[i] = select(owned, plane_distance_[i], floats(infinity));
        rays = rays | owned;
    }
    if (any(rays))
        shader_.shade_slices(block, rays, here_);
}

/// Leave out segments that the half spaces clip, for a plan that clips all layers.
void RayMarcher::clip_owned(OwnedSegments& owned) const {
    const Ints first = max(owned.first, ints(clip_->first));
    const Ints last = min(owned.last, ints(clip_->last_end - 1));
    owned.any = owned.any & clip_->any & less_equal(first, last);
    owned.first = select(owned.any, first, ints(int_max));
    owned.last = select(owned.any, last, ints(-1));
}

void RayMarcher::assign_slices(const OwnedSegments& owned) {
    // A plane may lie at the end of the ray, which may be the end of a segment.
    const Ints end = ends_.segment_at(packet_->length);
    const Ints last = select(less(ends_.at(end), packet_->length), end, end - 1);
    for (std::size_t i = 0; i < plane_distance_.size(); ++i) {
        const Ints number = min(ends_.segment_at(plane_distance_[i]), last);
        const Mask here = owned.any & less(plane_distance_[i], floats(infinity)) &
                          less_equal(owned.first, number) & less_equal(number, owned.last);
        plane_segment_[i] = select(here, number, ints(int_max));
    }
}

std::int32_t RayMarcher::next_slice(std::int32_t from) const {
    Ints next = ints(int_max);
    for (const Ints segment : plane_segment_)
        next = min(next, select(less(segment, ints(from)), ints(int_max), segment));
    return reduce_min(next);
}

const std::vector<Floats>& RayMarcher::slices_in(std::int32_t begin, std::int32_t end) {
    for (std::size_t i = 0; i < plane_distance_.size(); ++i) {
        const Mask inside =
            less_equal(ints(begin), plane_segment_[i]) & less(plane_segment_[i], ints(end));
        here_[i] = select(inside, plane_distance_[i], floats(infinity));
    }
    return here_;
}

/// Shade the surfaces of several segments at once: without volumes nothing is sampled between them.
void RayMarcher::march_surfaces(const VisibleBlock& block, const OwnedSegments& owned, Mask& alive,
                                std::int32_t begin, std::int32_t end, bool may_cross) {
    const Mask rays = alive & less(owned.first, ints(end)) & less_equal(ints(begin), owned.last);
    const Floats from = min(ends_.at(max(owned.first, ints(begin))), packet_->length);
    const Floats to = min(ends_.at(min(owned.last + 1, ints(end))), packet_->length);
    if (any(rays))
        shader_.shade_segment(block, rays, {from, to, nullptr, nullptr}, slices_in(begin, end),
                              may_cross);
    alive = alive & shader_.pixels.unterminated();
}

void RayMarcher::march(const VisibleBlock& block) {
    OwnedSegments owned =
        find_owned_segments(block, *packet_, shader_.pixels.unterminated(), ends_);
    if (plan_.all_clipped)
        clip_owned(owned);
    if (!any(owned.any))
        return;
    assign_slices(owned);
    const ClipInterval* const clip = plan_.volumes_clipped ? &*clip_ : nullptr; // of all volumes
    std::optional<EmptySpaceSkipper> skipper;
    if (!block.active_bricks.all || !plan_.isosurfaces.empty())
        skipper.emplace(plan_, block, *bounds_, ends_);
    const std::int32_t end = reduce_max(owned.last) + 1;
    std::int32_t k = reduce_min(owned.first);
    std::int32_t slice = next_slice(k);
    EmptySpaceSkipper::SegmentRange active{k, skipper ? k : end, false};
    Mask alive = owned.any;
    SamplePositions positions{};
    bool sampled = false;
    while (k < end) {
        if (k >= active.end)
            active = skipper->next(k, end);
        if (slice < k)
            slice = next_slice(k);
        if (const std::int32_t to = std::min(active.begin, slice); to > k) {
            k = to;
            sampled = false;
        }
        alive = alive & less_equal(ints(k), owned.last);
        if (!any(alive))
            return;
        const bool may_cross = active.surfaces && active.begin <= k;
        if (plan_.volumes.empty()) {
            const std::int32_t until = active.begin <= k ? active.end : k + 1;
            march_surfaces(block, owned, alive, k, until, may_cross);
            k = until;
            continue;
        }
        if (clip != nullptr && slice > k && !may_cross && !clip->may_hold(k)) {
            k = std::min({active.end, slice, k < clip->first ? clip->first : end});
            sampled = false;
            continue;
        }
        if (!sampled) {
            positions = block.sampler.locate(*packet_, at(k));
            shader_.sample(block, positions, owned.reaches(k) & alive, front_.data());
            sampled = true;
        }
        if (fast_path_.applicable() && slice > k && !may_cross &&
            (clip == nullptr || clip->holds(k))) {
            const std::int32_t until = std::min({active.end, slice, k + segments_per_exit_test,
                                                 clip == nullptr ? end : clip->whole_end});
            fast_path_.draw(shader_, block, *packet_, ends_, owned,
                            clip == nullptr ? alive : alive & clip->any, k, until, positions,
                            front_[0]);
            k = until;
        } else {
            const SamplePositions next = block.sampler.locate(*packet_, at(k + 1));
            shader_.sample(block, next, owned.reaches(k + 1) & alive, back_.data());
            shader_.shade_segment(block, owned.has(k) & alive,
                                  {at(k), at(k + 1), front_.data(), back_.data()},
                                  slices_in(k, k + 1), may_cross);
            std::swap(front_, back_);
            positions = next;
            ++k;
        }
        alive = alive & shader_.pixels.unterminated();
    }
}

} // namespace uzushio::raycast
