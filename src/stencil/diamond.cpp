#include "stencil/scheme_plans.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "stencil/exchange_plans.hpp"
#include "stencil/tile_shape.hpp"

namespace uzushio::stencil {

namespace {

/// One axis of a tile at the beginning of a forward block, mirrored for odd blocks, so that the
/// seam at its low end is always its own and the seam at its high end is the neighbour's.
struct DiamondAxis {
    Range at;
    bool low; ///< whether there is a neighbour
    bool high;

    /// Points of level k that are independent of neighbours.
    [[nodiscard]] Range independent(int k) const {
        return {at.begin + (low ? k : 0), at.end - (high ? k : 0)};
    }
    /// Points of level k in the seam over the low border.
    [[nodiscard]] Range seam(int k) const {
        return low ? Range{at.begin - k, at.begin + k} : Range{};
    }
    /// Independent points and seam, shifted by `below` and `above` points at ends with a neighbour.
    [[nodiscard]] Range with_seam(int k, int below, int above) const {
        return {at.begin - (low ? k + below : 0), at.end - (high ? k - above : 0)};
    }
};

/// Regions and messages of a block, mirrored if the block is odd.
class DiamondBlock {
  public:
    DiamondBlock(const Tiling& tiling, const BlockKind& kind)
        : tiling_(tiling), kind_(kind), sign_(kind.odd ? -1 : 1) {
        const TileShape shape = tile_shape(tiling).moved(kind.odd ? kind.block_steps : 0);
        x = kind.odd ? DiamondAxis{mirrored(shape.rect.x), shape.right, shape.left}
                     : DiamondAxis{shape.rect.x, shape.left, shape.right};
        y = kind.odd ? DiamondAxis{mirrored(shape.rect.y), shape.above, shape.below}
                     : DiamondAxis{shape.rect.y, shape.below, shape.above};
    }

    DiamondAxis x{}, y{};

    /// Levels that the block computes, in order.
    [[nodiscard]] std::vector<int> levels() const {
        std::vector<int> all;
        for (int i = 0; i < kind_.steps; ++i)
            all.push_back(kind_.backward ? kind_.to_level + kind_.steps - 1 - i : i + 1);
        return all;
    }
    /// The level that update i reads.
    [[nodiscard]] int read_level(int i) const {
        return kind_.backward ? kind_.to_level + kind_.steps - i : i;
    }

    /// Return the region of the rectangles `rect(k)` of all levels k, without the holes `hole(k)`.
    template <class RectOf, class HoleOf>
    [[nodiscard]] Region region(RectOf&& rect, HoleOf&& hole) const {
        Region region;
        for (const int level : levels()) {
            const Rect whole = mirrored(rect(level));
            const Rect left_out = mirrored(hole(level));
            region.updates.push_back(area_of(whole.y, [&](int row) {
                RowSpans spans = spans_of(whole.x);
                subtract(spans, left_out, row);
                return spans;
            }));
        }
        return region;
    }
    template <class RectOf> [[nodiscard]] Region region(RectOf&& rect) const {
        return region(rect, [](int) { return Rect{}; });
    }

    /// Return the exchange with one message to the tile in direction (dx, dy) and one from the
    /// opposite tile: `sent(i)` and `received(i)` of the levels that updates i read.
    template <class MessageCount, class Received>
    [[nodiscard]] ExchangePlan exchange(int dx, int dy, MessageCount&& sent,
                                        Received&& received) const {
        std::vector<BufferRect> out, in;
        for (int i = 0; i < kind_.steps; ++i) {
            for (BufferRect rect : sent(i))
                put(out, i, rect);
            for (BufferRect rect : received(i))
                put(in, i, rect);
        }
        ExchangeStage stage;
        add_send(stage, tiling_, sign_ * dx, sign_ * dy, std::move(out));
        add_receive(stage, tiling_, -sign_ * dx, -sign_ * dy, std::move(in));
        return non_empty(std::move(stage));
    }

  private:
    [[nodiscard]] Range mirrored(Range r) const { return kind_.odd ? Range{-r.end, -r.begin} : r; }
    [[nodiscard]] Rect mirrored(const Rect& r) const { return {mirrored(r.x), mirrored(r.y)}; }

    void put(std::vector<BufferRect>& rects, int update, BufferRect rect) const {
        rect.buffer = update & 1;
        rect.rect = mirrored(rect.rect);
        if (!rect.rect.empty())
            rects.push_back(rect);
    }

    const Tiling& tiling_;
    const BlockKind& kind_;
    int sign_;
};

std::vector<BufferRect> single_rect(Range x, Range y) { return {{0, {x, y}}}; }

/// Plan of a forward block. Messages contain the two points next to the slope at the high end,
/// which the seam beyond it reads.
SweepPlan up_the_levels(const Tiling& tiling, const BlockKind& kind) {
    const DiamondBlock block(tiling, kind);
    const DiamondAxis x = block.x, y = block.y;
    const auto high_face = [](const DiamondAxis& s, int k) {
        return s.high ? Range{s.at.end - k - 2, s.at.end - k} : Range{};
    };
    const auto low_face = [](const DiamondAxis& s, int k) {
        return s.low ? Range{s.at.begin - k - 2, s.at.begin - k} : Range{};
    };
    const auto independent = [&](int k) { return Rect{x.independent(k), y.independent(k)}; };
    // Points that no message of this exchange depends on.
    const auto later = [&](int k) {
        if (!kind.overlap)
            return Rect{};
        return Rect{
            {x.independent(k).begin, x.at.end - (x.high ? std::max(k, 2 * kind.steps - k) : 0)},
            y.independent(k)};
    };

    SweepPhase faces, seams_x, seams_y, corners;
    faces.after = block.region(independent, later);
    seams_x.exchange = block.exchange(
        1, 0, [&](int i) { return single_rect(high_face(x, i), y.independent(i)); },
        [&](int i) { return single_rect(low_face(x, i), y.independent(i)); });
    seams_x.meanwhile = block.region(later);
    seams_x.after = block.region([&](int k) { return Rect{x.seam(k), y.independent(k)}; });
    seams_y.exchange = block.exchange(
        0, 1, [&](int i) { return single_rect(x.with_seam(i, 1, 0), high_face(y, i)); },
        [&](int i) { return single_rect(x.with_seam(i, 1, 0), low_face(y, i)); });
    seams_y.after = block.region([&](int k) { return Rect{x.independent(k), y.seam(k)}; });
    const auto beside = [&](int i) {
        return y.low ? Range{y.at.begin - i - 1, y.at.begin + i} : Range{};
    };
    corners.exchange = block.exchange(
        1, 0, [&](int i) { return single_rect(high_face(x, i), beside(i)); },
        [&](int i) { return single_rect(low_face(x, i), beside(i)); });
    corners.after = block.region([&](int k) { return Rect{x.seam(k), y.seam(k)}; });

    SweepPlan plan;
    plan.phases = {std::move(faces), std::move(seams_x), std::move(seams_y), std::move(corners)};
    return plan;
}

/// Plan of a backward block: the same regions in reverse order. Messages contain the two points of
/// a seam next to its low end, which the slope below it reads.
SweepPlan down_the_levels(const Tiling& tiling, const BlockKind& kind) {
    const DiamondBlock block(tiling, kind);
    const DiamondAxis x = block.x, y = block.y;
    const auto low_face = [](const DiamondAxis& s, int k) {
        return s.low ? Range{s.at.begin - k, s.at.begin - k + 2} : Range{};
    };
    const auto high_face = [](const DiamondAxis& s, int k) {
        return s.high ? Range{s.at.end - k, s.at.end - k + 2} : Range{};
    };
    const auto level = [&](int i) { return block.read_level(i); };

    SweepPhase corners, seams_y, seams_x, independent;
    corners.after = block.region([&](int k) { return Rect{x.seam(k), y.seam(k)}; });
    seams_y.exchange = block.exchange(
        -1, 0, [&](int i) { return single_rect(low_face(x, level(i)), y.seam(level(i))); },
        [&](int i) { return single_rect(high_face(x, level(i)), y.seam(level(i))); });
    seams_y.after = block.region([&](int k) { return Rect{x.independent(k), y.seam(k)}; });
    seams_x.exchange = block.exchange(
        0, -1,
        [&](int i) { return single_rect(x.with_seam(level(i), 0, 2), low_face(y, level(i))); },
        [&](int i) { return single_rect(x.with_seam(level(i), 0, 2), high_face(y, level(i))); });
    seams_x.after = block.region([&](int k) { return Rect{x.seam(k), y.independent(k)}; });
    independent.exchange = block.exchange(
        -1, 0, [&](int i) { return single_rect(low_face(x, level(i)), y.independent(level(i))); },
        [&](int i) { return single_rect(high_face(x, level(i)), y.independent(level(i))); });
    const auto all = [&](int k) { return Rect{x.independent(k), y.independent(k)}; };
    // Points that are independent of all messages from beyond the high end.
    const int top = kind.to_level + kind.steps;
    const auto early = [&](int k) {
        if (!kind.overlap)
            return Rect{};
        return Rect{{x.independent(k).begin, x.at.end - (x.high ? 2 * top - k : 0)},
                    y.independent(k)};
    };
    independent.meanwhile = block.region(early);
    independent.after = block.region(all, early);

    SweepPlan plan;
    plan.phases = {std::move(corners), std::move(seams_y), std::move(seams_x),
                   std::move(independent)};
    return plan;
}

/// Plan of one plain step of shifted tiles.
SweepPlan entry(const Tiling& tiling, const BlockKind& kind, int moved) {
    const TileShape shape = tile_shape(tiling).moved(moved);
    SweepPhase phase;
    phase.exchange = halo_exchange(tiling, shape, 1, false);
    const Rect inner = kind.overlap ? shape.shrunk(1) : Rect{};
    phase.meanwhile.updates.push_back(inner.empty() ? Area{} : Area{inner});
    phase.after.updates.push_back(area_of(shape.rect.y, [&](int y) {
        RowSpans spans = spans_of(shape.rect.x);
        subtract(spans, inner, y);
        return spans;
    }));
    SweepPlan plan;
    plan.phases = {std::move(phase)};
    return plan;
}

} // namespace

SweepPlan diamond(const Tiling& tiling, const BlockKind& kind) {
    // Shift of the tiles at level k of the block.
    const auto shift = [&](int k) { return kind.odd ? kind.block_steps - k : k; };
    const int low = kind.backward ? kind.to_level : 0;
    const int high = low + (kind.entry ? 0 : kind.steps);
    SweepPlan plan = kind.entry      ? entry(tiling, kind, shift(high))
                     : kind.backward ? down_the_levels(tiling, kind)
                                     : up_the_levels(tiling, kind);
    plan.steps = kind.steps;
    plan.moved = shift(kind.backward ? high : low);
    plan.moves = shift(kind.backward ? low : high) - plan.moved;
    constexpr int far = std::numeric_limits<int>::max() / 2;
    plan.owned = {{-far, far}, {-far, far}};
    return plan;
}

int max_diamond_steps(const Tiling& tiling, int /*margin*/) {
    int steps = unlimited_steps;
    if (tiling.has_neighbours_x())
        steps = std::min(steps, tiling.min_extent_x() / 2);
    if (tiling.has_neighbours_y())
        steps = std::min(steps, tiling.min_extent_y() / 2);
    return steps;
}

} // namespace uzushio::stencil
