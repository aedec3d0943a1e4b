#include "stencil/diamond.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "stencil/halo.hpp"
#include "stencil/shape.hpp"
#include "stencil/stages.hpp"

namespace uzushio::stencil {

namespace {

/// One direction of a tile at the beginning of a forward block, turned over for odd blocks, so that
/// the seam at its low end is always its own and the one at its high end is the neighbour's.
struct Side {
    Range at;
    bool low; ///< there is a tile beyond
    bool high;

    /// What of level k the tile knows alone.
    [[nodiscard]] Range alone(int k) const {
        return {at.begin + (low ? k : 0), at.end - (high ? k : 0)};
    }
    /// What of level k lies over the low border.
    [[nodiscard]] Range seam(int k) const {
        return low ? Range{at.begin - k, at.begin + k} : Range{};
    }
    /// Both together, with `more` points below and above where there are tiles.
    [[nodiscard]] Range both(int k, int below, int above) const {
        return {at.begin - (low ? k + below : 0), at.end - (high ? k - above : 0)};
    }
};

/// Turns what a block in its usual direction is made of into that of this one.
class Block {
  public:
    Block(const Tiling& tiling, const BlockKind& kind)
        : tiling_(tiling), kind_(kind), sign_(kind.odd ? -1 : 1) {
        const Shape shape = shape_of(tiling).moved(kind.odd ? kind.block_steps : 0);
        x = kind.odd ? Side{turned(shape.rect.x), shape.right, shape.left}
                     : Side{shape.rect.x, shape.left, shape.right};
        y = kind.odd ? Side{turned(shape.rect.y), shape.above, shape.below}
                     : Side{shape.rect.y, shape.below, shape.above};
    }

    Side x{}, y{};

    /// Levels that the block computes, in their order.
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

    /// The rectangles `rect(k)` of all levels k, without the smaller `hole(k)`.
    template <class RectOf, class HoleOf>
    [[nodiscard]] Region region(RectOf&& rect, HoleOf&& hole) const {
        Region region;
        for (const int level : levels()) {
            const Rect whole = turned(rect(level));
            const Rect left_out = turned(hole(level));
            region.updates.push_back(area_of(whole.y, [&](int row) {
                Parts parts = parts_of(whole.x);
                subtract(parts, left_out, row);
                return parts;
            }));
        }
        return region;
    }
    template <class RectOf> [[nodiscard]] Region region(RectOf&& rect) const {
        return region(rect, [](int) { return Rect{}; });
    }

    /// The message to the tile whose seam is at our high end, or low end, and that from the other
    /// side: `sent(i)` and `received(i)` of the levels that the updates i read.
    template <class Sent, class Received>
    [[nodiscard]] Exchange exchange(int dx, int dy, Sent&& sent, Received&& received) const {
        std::vector<Patch> out, in;
        for (int i = 0; i < kind_.steps; ++i) {
            for (Patch patch : sent(i))
                put(out, i, patch);
            for (Patch patch : received(i))
                put(in, i, patch);
        }
        Stage stage;
        send(stage, tiling_, sign_ * dx, sign_ * dy, std::move(out));
        receive(stage, tiling_, -sign_ * dx, -sign_ * dy, std::move(in));
        return stages(std::move(stage));
    }

  private:
    [[nodiscard]] Range turned(Range r) const { return kind_.odd ? Range{-r.end, -r.begin} : r; }
    [[nodiscard]] Rect turned(const Rect& r) const { return {turned(r.x), turned(r.y)}; }

    void put(std::vector<Patch>& patches, int update, Patch patch) const {
        patch.buffer = update & 1;
        patch.rect = turned(patch.rect);
        if (!patch.rect.empty())
            patches.push_back(patch);
    }

    const Tiling& tiling_;
    const BlockKind& kind_;
    int sign_;
};

std::vector<Patch> one(Range x, Range y) { return {{0, {x, y}}}; }

/// What is sent are the two points next to a slope at its high end, towards the seam beyond it.
Plan up_the_levels(const Tiling& tiling, const BlockKind& kind) {
    const Block block(tiling, kind);
    const Side x = block.x, y = block.y;
    const auto high_face = [](const Side& s, int k) {
        return s.high ? Range{s.at.end - k - 2, s.at.end - k} : Range{};
    };
    const auto low_face = [](const Side& s, int k) {
        return s.low ? Range{s.at.begin - k - 2, s.at.begin - k} : Range{};
    };
    const auto alone = [&](int k) { return Rect{x.alone(k), y.alone(k)}; };
    // Far enough from the high end that nothing there comes from it.
    const auto later = [&](int k) {
        if (!kind.overlap)
            return Rect{};
        return Rect{{x.alone(k).begin, x.at.end - (x.high ? std::max(k, 2 * kind.steps - k) : 0)},
                    y.alone(k)};
    };

    Phase faces, seams_x, seams_y, corners;
    faces.after = block.region(alone, later);
    seams_x.exchange = block.exchange(
        1, 0, [&](int i) { return one(high_face(x, i), y.alone(i)); },
        [&](int i) { return one(low_face(x, i), y.alone(i)); });
    seams_x.meanwhile = block.region(later);
    seams_x.after = block.region([&](int k) { return Rect{x.seam(k), y.alone(k)}; });
    seams_y.exchange = block.exchange(
        0, 1, [&](int i) { return one(x.both(i, 1, 0), high_face(y, i)); },
        [&](int i) { return one(x.both(i, 1, 0), low_face(y, i)); });
    seams_y.after = block.region([&](int k) { return Rect{x.alone(k), y.seam(k)}; });
    const auto beside = [&](int i) {
        return y.low ? Range{y.at.begin - i - 1, y.at.begin + i} : Range{};
    };
    corners.exchange = block.exchange(
        1, 0, [&](int i) { return one(high_face(x, i), beside(i)); },
        [&](int i) { return one(low_face(x, i), beside(i)); });
    corners.after = block.region([&](int k) { return Rect{x.seam(k), y.seam(k)}; });

    Plan plan;
    plan.phases = {std::move(faces), std::move(seams_x), std::move(seams_y), std::move(corners)};
    return plan;
}

/// The same regions the other way round; what is sent are the two points of a seam next to its low
/// end, towards the slope below it.
Plan down_the_levels(const Tiling& tiling, const BlockKind& kind) {
    const Block block(tiling, kind);
    const Side x = block.x, y = block.y;
    // Level k is read.
    const auto low_face = [](const Side& s, int k) {
        return s.low ? Range{s.at.begin - k, s.at.begin - k + 2} : Range{};
    };
    const auto high_face = [](const Side& s, int k) {
        return s.high ? Range{s.at.end - k, s.at.end - k + 2} : Range{};
    };
    const auto level = [&](int i) { return block.read_level(i); };

    Phase corners, seams_y, seams_x, alone;
    corners.after = block.region([&](int k) { return Rect{x.seam(k), y.seam(k)}; });
    seams_y.exchange = block.exchange(
        -1, 0, [&](int i) { return one(low_face(x, level(i)), y.seam(level(i))); },
        [&](int i) { return one(high_face(x, level(i)), y.seam(level(i))); });
    seams_y.after = block.region([&](int k) { return Rect{x.alone(k), y.seam(k)}; });
    seams_x.exchange = block.exchange(
        0, -1, [&](int i) { return one(x.both(level(i), 0, 2), low_face(y, level(i))); },
        [&](int i) { return one(x.both(level(i), 0, 2), high_face(y, level(i))); });
    seams_x.after = block.region([&](int k) { return Rect{x.seam(k), y.alone(k)}; });
    alone.exchange = block.exchange(
        -1, 0, [&](int i) { return one(low_face(x, level(i)), y.alone(level(i))); },
        [&](int i) { return one(high_face(x, level(i)), y.alone(level(i))); });
    const auto all = [&](int k) { return Rect{x.alone(k), y.alone(k)}; };
    // Far enough from the high end that nothing comes from beyond it.
    const int top = kind.to_level + kind.steps;
    const auto early = [&](int k) {
        if (!kind.overlap)
            return Rect{};
        return Rect{{x.alone(k).begin, x.at.end - (x.high ? 2 * top - k : 0)}, y.alone(k)};
    };
    alone.meanwhile = block.region(early);
    alone.after = block.region(all, early);

    Plan plan;
    plan.phases = {std::move(corners), std::move(seams_y), std::move(seams_x), std::move(alone)};
    return plan;
}

/// One plain step of tiles that have moved.
Plan entry(const Tiling& tiling, const BlockKind& kind, int moved) {
    const Shape shape = shape_of(tiling).moved(moved);
    Phase phase;
    phase.exchange = halo(tiling, shape, 1, false);
    const Rect alone = kind.overlap ? shape.shrunk(1) : Rect{};
    phase.meanwhile.updates.push_back(alone.empty() ? Area{} : Area{alone});
    phase.after.updates.push_back(area_of(shape.rect.y, [&](int y) {
        Parts parts = parts_of(shape.rect.x);
        if (!alone.empty() && y >= alone.y.begin && y < alone.y.end)
            subtract(parts, alone.x);
        return parts;
    }));
    Plan plan;
    plan.phases = {std::move(phase)};
    return plan;
}

} // namespace

Plan diamond(const Tiling& tiling, const BlockKind& kind) {
    // Where level k of the block has its tiles.
    const auto place = [&](int k) { return kind.odd ? kind.block_steps - k : k; };
    const int low = kind.backward ? kind.to_level : 0;
    const int high = low + (kind.entry ? 0 : kind.steps);
    Plan plan = kind.entry      ? entry(tiling, kind, place(high))
                : kind.backward ? down_the_levels(tiling, kind)
                                : up_the_levels(tiling, kind);
    plan.steps = kind.steps;
    plan.moved = place(kind.backward ? high : low);
    plan.moves = place(kind.backward ? low : high) - plan.moved;
    constexpr int far = std::numeric_limits<int>::max() / 2;
    plan.owned = {{-far, far}, {-far, far}};
    return plan;
}

int most_diamond_steps(const Tiling& tiling, int /*margin*/) {
    int steps = unlimited_steps;
    if (tiling.cut_x())
        steps = std::min(steps, tiling.narrowest_x() / 2);
    if (tiling.cut_y())
        steps = std::min(steps, tiling.narrowest_y() / 2);
    return steps;
}

} // namespace uzushio::stencil
