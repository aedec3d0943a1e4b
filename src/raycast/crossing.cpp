#include "raycast/crossing.hpp"

#include <array>

namespace uzushio::raycast {

namespace {

/// Traversal of the cells between two distances, one step per cell (Amanatides and Woo, 1987).
class CellTraversal {
  public:
    Mask rays;                ///< that are in a cell
    std::array<Ints, 3> cell; ///< counted from the block's first point
    Floats from, until;       ///< distances at which rays enter and leave the cell

    CellTraversal(const VisibleBlock& block, const RayPacket& packet, Mask active, Floats begin,
                  Floats end)
        : rays(active), until(begin), sampler_(block.sampler), packet_(packet), end_(end) {
        for (std::size_t a = 0; a < 3; ++a) {
            cell[a] = sampler_.cell(a, packet.position(a, begin));
            const Ints last = sampler_.cell(a, packet.position(a, end));
            up_[a] = less(floats(0), packet.along[a]);
            ahead_[a] = select(up_[a], ints(1), ints(0));
            left_[a] = select(up_[a], last - cell[a], cell[a] - last);
        }
        find_exit();
    }

    /// Return the positions within the cells at a distance, from 0 to 1 along each axis.
    [[nodiscard]] std::array<Floats, 3> fractions(Floats distance) const {
        std::array<Floats, 3> result;
        for (std::size_t a = 0; a < 3; ++a)
            result[a] = sampler_.fraction(a, packet_.position(a, distance), cell[a]);
        return result;
    }

    /// Advance to the next cells; false if no ray has one.
    bool next() {
        rays = rays & ~done_;
        if (!any(rays))
            return false;
        for (std::size_t a = 0; a < 3; ++a) {
            const Ints step = select(leaves_[a], ints(1), ints(0));
            left_[a] = left_[a] - step;
            cell[a] = cell[a] + select(up_[a], step, -step);
        }
        find_exit();
        return true;
    }

  private:
    /// Find the exits of the cells: a face ahead, or the end of the ray.
    void find_exit() {
        from = until;
        std::array<Floats, 3> face;
        Floats nearest = floats(infinity);
        for (std::size_t a = 0; a < 3; ++a) {
            const Floats position = sampler_.point_position(a, cell[a] + ahead_[a]);
            const Floats at = (position - packet_.start[a]) * packet_.inverse[a];
            face[a] = select(less(ints(0), left_[a]), min(max(at, from), end_), floats(infinity));
            nearest = min(nearest, face[a]);
        }
        done_ = equal(nearest, floats(infinity));
        until = min(nearest, end_);
        Mask free = ~done_;
        for (std::size_t a = 0; a < 3; ++a) {
            leaves_[a] = free & equal(face[a], nearest);
            free = free & ~leaves_[a];
        }
    }

    const Sampler& sampler_;
    const RayPacket& packet_;
    Floats end_;
    std::array<Mask, 3> up_;     ///< whether cell indices rise along the ray
    std::array<Ints, 3> ahead_;  ///< face of the cell that lies ahead: 0 or 1
    std::array<Ints, 3> left_;   ///< faces up to the last cell
    std::array<Mask, 3> leaves_; ///< face at the exit
    Mask done_;                  ///< rays in their last cell
};

/// Values at the corners of cells, their range, and the lanes in which all are finite.
struct Corners {
    Corners(const std::array<Floats, 8>& at, bool any_nonfinite)
        : values(at), low(at[0]), high(at[0]), finite(mask_of(0xffff)) {
        for (std::size_t i = 1; i < 8; ++i) {
            low = min(low, at[i]);
            high = max(high, at[i]);
        }
        if (!any_nonfinite)
            return;
        Floats zero{};
        for (const Floats value : at)
            zero = fma(value, floats(0), zero);
        finite = equal(zero, floats(0));
    }

    std::array<Floats, 8> values;
    Floats low, high;
    Mask finite;
};

} // namespace

void CrossingFinder::find(const VisibleBlock& block, const RayPacket& packet,
                          const IsosurfaceField& surfaces, Mask rays, Floats begin, Floats end,
                          std::vector<Crossing>& crossings) {
    const PointValues& field = *block.fields[surfaces.field];
    const bool any_nonfinite = block.any_nonfinite[surfaces.field];
    Mask known = no_lanes(); // rays whose previous cell had finite values
    CellTraversal traversal(block, packet, rays, begin, end);
    do {
        const Corners corners(block.sampler.corners(field, surfaces.shift, traversal.cell),
                              any_nonfinite);
        const Mask here = traversal.rays & corners.finite;
        for (const std::size_t number : surfaces.isosurfaces) {
            const Surface& iso = plan_.isosurfaces[number];
            const auto value = floats(static_cast<float>(iso.value - surfaces.shift));
            const auto add = [&](Mask there, Floats distance) {
                if (!any(there))
                    return;
                crossings.push_back(
                    {plan_.slices.size() + number, select(there, distance, floats(infinity))});
                if (iso.opaque)
                    traversal.rays = traversal.rays & ~there;
            };
            const Mask all_below = less(corners.high, value);
            const Mask mixed = here & less_equal(value, corners.high) & less(corners.low, value);
            const Mask before = below_[number];
            if (!any(mixed)) {
                below_[number] = all_below;
                add(here & known & (before ^ all_below), traversal.from);
                continue;
            }
            std::array<Floats, 8> less_value;
            for (std::size_t i = 0; i < 8; ++i)
                less_value[i] = corners.values[i] - value;
            const Cubic cubic(less_value, traversal.fractions(traversal.from),
                              traversal.fractions(traversal.until));
            const auto side_at = [&](Floats at) {
                return (mixed & less(at, floats(0))) | (~mixed & all_below);
            };
            below_[number] = side_at(cubic.end());
            add(here & known & (before ^ side_at(cubic.begin())), traversal.from);
            const Mask meets = mixed & cubic.may_vanish();
            if (!any(meets))
                continue;
            if (iso.opaque) {
                const Mask ends = meets & cubic.vanishes();
                FirstCrossing& crossing = first_crossings_[number];
                crossing.rays = crossing.rays | ends;
                crossing.cubic.replace(ends, cubic);
                crossing.begin = select(ends, traversal.from, crossing.begin);
                crossing.end = select(ends, traversal.until, crossing.end);
                traversal.rays = traversal.rays & ~ends;
                continue;
            }
            const auto roots = cubic.roots();
            for (std::size_t i = 0; i < 3; ++i)
                add(meets & roots.there[i],
                    fma(roots.at[i], traversal.until - traversal.from, traversal.from));
        }
        known = corners.finite;
    } while (traversal.next());
    for (const std::size_t number : surfaces.isosurfaces) {
        FirstCrossing& crossing = first_crossings_[number];
        if (!any(crossing.rays))
            continue;
        const Floats at =
            fma(crossing.cubic.first_root(), crossing.end - crossing.begin, crossing.begin);
        crossings.push_back(
            {plan_.slices.size() + number, select(crossing.rays, at, floats(infinity))});
        crossing.rays = no_lanes();
    }
}

} // namespace uzushio::raycast
