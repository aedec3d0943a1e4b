#pragma once

#include "domain/box.hpp"
#include "domain/patch.hpp"
#include "domain/transform.hpp"

namespace uzushio::domain {

/// Location of values along each axis: 1: at vertices, 0: at cell centres.
using Stagger = std::array<int, 3>;

/// Return the indices of the values of a box of cells, with the vertices at both of its ends.
[[nodiscard]] constexpr Box<3> staggered(Box<3> cells, const Stagger& stagger) {
    for (std::size_t a = 0; a < 3; ++a)
        cells.upper[a] += stagger[a];
    return cells;
}

/// Affine signed permutation from indices of one zone to those of another: `axis[a]` of the donor
/// runs along axis a, with `sign[a]`. It acts on half cells (vertex i is at 2i, the centre of cell
/// i at 2i + 1), so that cells, faces and vertices are mapped by one formula.
struct IndexMap {
    std::array<std::size_t, 3> axis{0, 1, 2};
    Index<3> sign{1, 1, 1};
    Index<3> offset{}; ///< half cells, by the zone's axis: donor = sign * zone + offset

    /// Return the map across a connection of two patches of zones with these cells.
    static IndexMap across(const Patch& patch, const Index<3>& cells, const Patch& donor_patch,
                           const Index<3>& donor_cells, const Transform& transform) {
        IndexMap map;
        const auto along = patch.face.along();
        const auto donor_along = donor_patch.face.along();
        for (std::size_t a = 0; a < 3; ++a) {
            map.axis[a] = transform.axis(a);
            map.sign[a] = transform.sign(a);
            std::int64_t here = 0, there = 0; // connected vertices
            if (a == patch.face.axis) {
                here = patch.face.is_upper() ? cells[a] : 0;
                there = donor_patch.face.is_upper() ? donor_cells[map.axis[a]] : 0;
            } else {
                const std::size_t t = along[0] == a ? 0 : 1;
                const std::size_t u = donor_along[0] == map.axis[a] ? 0 : 1;
                here = patch.range.lower[t];
                there = map.sign[a] > 0 ? donor_patch.range.lower[u] : donor_patch.range.upper[u];
            }
            map.offset[a] = 2 * there - map.sign[a] * 2 * here;
        }
        return map;
    }

    /// Return the map that applies this one, then `next`.
    [[nodiscard]] IndexMap then(const IndexMap& next) const {
        IndexMap map;
        for (std::size_t a = 0; a < 3; ++a) {
            const std::size_t b = axis[a];
            map.axis[a] = next.axis[b];
            map.sign[a] = next.sign[b] * sign[a];
            map.offset[a] = next.sign[b] * offset[a] + next.offset[b];
        }
        return map;
    }

    /// Return the stagger along the donor's axes.
    [[nodiscard]] Stagger apply_to_stagger(const Stagger& stagger) const {
        Stagger result{};
        for (std::size_t a = 0; a < 3; ++a)
            result[axis[a]] = stagger[a];
        return result;
    }

    /// Return the donor's indices of a box of values with this stagger.
    [[nodiscard]] Box<3> apply(const Box<3>& box, const Stagger& stagger) const {
        Box<3> result;
        for (std::size_t a = 0; a < 3; ++a) {
            const std::int64_t half = stagger[a] ? 0 : 1;
            const std::int64_t first = sign[a] * (2 * box.lower[a] + half) + offset[a] - half;
            const std::int64_t last = sign[a] * (2 * (box.upper[a] - 1) + half) + offset[a] - half;
            result.lower[axis[a]] = std::min(first, last) / 2; // both are even
            result.upper[axis[a]] = std::max(first, last) / 2 + 1;
        }
        return result;
    }

    /// Return the indices of this zone whose image is `box`, a box of the donor.
    [[nodiscard]] Box<3> apply_inverse(const Box<3>& box, const Stagger& stagger) const {
        IndexMap back;
        for (std::size_t a = 0; a < 3; ++a) {
            back.axis[axis[a]] = a;
            back.sign[axis[a]] = sign[a];
            back.offset[axis[a]] = -sign[a] * offset[a];
        }
        return back.apply(box, apply_to_stagger(stagger));
    }
};

} // namespace uzushio::domain
