#include "raycast/crossing.hpp"

#include <array>

namespace uzushio::raycast {

namespace {

/// Cells that rays pass between two distances, one after the other.
class CellWalk {
  public:
    Mask rays;                ///< that have a cell
    std::array<Ints, 3> cell; ///< counted from the block's first point
    Floats from, until;       ///< distances at which they enter and leave it

    CellWalk(const Part& part, const Packet& packet, Mask some, Floats begin, Floats end)
        : rays(some), until(begin), sampler_(part.sampler), packet_(packet), end_(end) {
        for (std::size_t a = 0; a < 3; ++a) {
            cell[a] = sampler_.cell(a, packet.position(a, begin));
            const Ints last = sampler_.cell(a, packet.position(a, end));
            up_[a] = less(floats(0), packet.along[a]);
            ahead_[a] = select(up_[a], ints(1), ints(0));
            left_[a] = select(up_[a], last - cell[a], cell[a] - last);
        }
        pass();
    }

    /// Where in their cells rays are at a distance, from 0 to 1 along each axis.
    [[nodiscard]] std::array<Floats, 3> places(Floats distance) const {
        std::array<Floats, 3> result;
        for (std::size_t a = 0; a < 3; ++a)
            result[a] = sampler_.part(a, packet_.position(a, distance), cell[a]);
        return result;
    }

    /// To the next cells; false if no ray has one.
    bool next() {
        rays = rays & ~done_;
        if (!any(rays))
            return false;
        for (std::size_t a = 0; a < 3; ++a) {
            const Ints step = select(leaves_[a], ints(1), ints(0));
            left_[a] = left_[a] - step;
            cell[a] = cell[a] + select(up_[a], step, -step);
        }
        pass();
        return true;
    }

  private:
    /// Find where rays leave their cells: by a face that lies ahead, or at the end.
    void pass() {
        from = until;
        std::array<Floats, 3> face;
        Floats nearest = floats(infinity);
        for (std::size_t a = 0; a < 3; ++a) {
            const Floats position = sampler_.edge(a, cell[a] + ahead_[a]);
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
    const Packet& packet_;
    Floats end_;
    std::array<Mask, 3> up_;     ///< whether the cells' numbers rise along the ray
    std::array<Ints, 3> ahead_;  ///< which of a cell's faces lies ahead: 0 or 1
    std::array<Ints, 3> left_;   ///< faces up to the last cell
    std::array<Mask, 3> leaves_; ///< by which face they leave the cell
    Mask done_;                  ///< those whose cell is the last
};

/// Values at the corners of cells, their range, and where all of them are finite.
struct Corners {
    Corners(const std::array<Floats, 8>& at, bool any_bad)
        : values(at), low(at[0]), high(at[0]), finite(mask_of(0xffff)) {
        for (std::size_t i = 1; i < 8; ++i) {
            low = min(low, at[i]);
            high = max(high, at[i]);
        }
        if (!any_bad)
            return;
        Floats zero{};
        for (const Floats some : at)
            zero = fma(some, floats(0), zero);
        finite = equal(zero, floats(0));
    }

    std::array<Floats, 8> values;
    Floats low, high;
    Mask finite;
};

} // namespace

void CrossingFinder::find(const Part& part, const Packet& packet, const IsoField& surfaces,
                          Mask rays, Floats begin, Floats end, std::vector<Crossing>& crossings) {
    const FieldView& field = *part.fields[surfaces.field];
    const bool any_bad = part.any_bad[surfaces.field];
    Mask known = no_lane(); // rays whose side is: the cell before had finite values
    CellWalk walk(part, packet, rays, begin, end);
    do {
        const Corners corners(part.sampler.corners(field, surfaces.shift, walk.cell), any_bad);
        const Mask here = walk.rays & corners.finite;
        for (const std::size_t number : surfaces.isos) {
            const Surface& iso = plan_.isos[number];
            const auto value = floats(static_cast<float>(iso.value - surfaces.shift));
            const auto add = [&](Mask there, Floats distance) {
                if (!any(there))
                    return;
                crossings.push_back(
                    {plan_.slices.size() + number, select(there, distance, floats(infinity))});
                if (iso.opaque)
                    walk.rays = walk.rays & ~there;
            };
            const Mask all_below = less(corners.high, value);
            const Mask mixed = here & less_equal(value, corners.high) & less(corners.low, value);
            const Mask before = below_[number];
            if (!any(mixed)) {
                below_[number] = all_below;
                add(here & known & (before ^ all_below), walk.from);
                continue;
            }
            std::array<Floats, 8> less_value;
            for (std::size_t i = 0; i < 8; ++i)
                less_value[i] = corners.values[i] - value;
            const Cubic cubic(less_value, walk.places(walk.from), walk.places(walk.until));
            const auto side_at = [&](Floats at) {
                return (mixed & less(at, floats(0))) | (~mixed & all_below);
            };
            below_[number] = side_at(cubic.end());
            add(here & known & (before ^ side_at(cubic.begin())), walk.from);
            const Mask meets = mixed & cubic.may_vanish();
            if (!any(meets))
                continue;
            if (iso.opaque) {
                const Mask ends = meets & cubic.vanishes();
                First& first = first_[number];
                first.rays = first.rays | ends;
                first.cubic.replace(ends, cubic);
                first.begin = select(ends, walk.from, first.begin);
                first.end = select(ends, walk.until, first.end);
                walk.rays = walk.rays & ~ends;
                continue;
            }
            const auto roots = cubic.roots();
            for (std::size_t i = 0; i < 3; ++i)
                add(meets & roots.there[i], fma(roots.at[i], walk.until - walk.from, walk.from));
        }
        known = corners.finite;
    } while (walk.next());
    for (const std::size_t number : surfaces.isos) {
        First& first = first_[number];
        if (!any(first.rays))
            continue;
        const Floats at = fma(first.cubic.first_root(), first.end - first.begin, first.begin);
        crossings.push_back(
            {plan_.slices.size() + number, select(first.rays, at, floats(infinity))});
        first.rays = no_lane();
    }
}

} // namespace uzushio::raycast
