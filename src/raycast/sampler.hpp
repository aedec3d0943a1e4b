#pragma once

#include <array>

#include "raycast/block.hpp"
#include "raycast/ray_packet.hpp"
#include "raycast/scene.hpp"

namespace uzushio::raycast {

/// Cells of sixteen positions, counted from a block's first point, and the fractions within them.
struct SamplePositions {
    std::array<Ints, 3> cell;
    std::array<Floats, 3> fraction;
};

/// Interpolation of a block's fields. All reads are within the stored points.
class Sampler {
  public:
    Sampler(const Scene& scene, const Block& block) : axes_(scene.axes.data()), block_(&block) {
        for (std::size_t a = 0; a < 3; ++a) {
            first_[a] = block.first_point()[a];
            last_[a] = block.points()[a] - 2;
            low_[a] = block.first_cell()[a];
            count_[a] = block.cells()[a];
            stored_[a] = axes_[a].limits(first_[a], first_[a] + last_[a] + 1);
            domain_[a] = axes_[a].limits(0, axes_[a].cells());
            cubes_ = cubes_ && block.points()[a] >= 4;
        }
    }

    [[nodiscard]] UZUSHIO_INLINE SamplePositions locate(const RayPacket& packet,
                                                        Floats distance) const {
        SamplePositions result;
        for (std::size_t a = 0; a < 3; ++a) {
            const auto position = axes_[a].locate(packet.position(a, distance), stored_[a]);
            result.cell[a] = position.cell - first_[a];
            result.fraction[a] = position.fraction;
        }
        return result;
    }

    /// Return the cells of positions along one axis, counted as in `SamplePositions`.
    [[nodiscard]] UZUSHIO_INLINE Ints cell(std::size_t a, Floats position) const {
        return axes_[a].cell(position, stored_[a]) - first_[a];
    }

    /// Return the rays whose position is in the block's own cells.
    [[nodiscard]] UZUSHIO_INLINE Mask owns(const RayPacket& packet, Floats distance) const {
        Mask result = mask_of(0xffff);
        for (std::size_t a = 0; a < 3; ++a) {
            const Ints cell = axes_[a].cell(packet.position(a, distance), domain_[a]) - low_[a];
            result = result & less_equal(ints(0), cell) & less(cell, ints(count_[a]));
        }
        return result;
    }

    /// Return the lanes whose position, in lookup space, is in the block's own cells.
    [[nodiscard]] Mask owns(const std::array<Floats, 3>& positions) const {
        Mask result = mask_of(0xffff);
        for (std::size_t a = 0; a < 3; ++a) {
            const Ints cell = axes_[a].cell(positions[a], domain_[a]) - low_[a];
            result = result & less_equal(ints(0), cell) & less(cell, ints(count_[a]));
        }
        return result;
    }

    /// Lowest cell of some rays along each axis, in all lanes.
    using Corner = std::array<Ints, 3>;
    [[nodiscard]] UZUSHIO_INLINE static Corner corner(const SamplePositions& at, Mask rays) {
        Corner result;
        for (std::size_t a = 0; a < 3; ++a)
            result[a] = ints(reduce_min(select(rays, at.cell[a], ints(int_max))));
        return result;
    }

    /// Return values less `shift`, valid for `rays`. `lowest`: a lower bound of the rays' cells.
    [[nodiscard]] UZUSHIO_INLINE Floats value(const PointValues& field, double shift,
                                              const SamplePositions& at, Mask rays,
                                              const Corner& lowest) const {
#if UZUSHIO_RAYCAST_AVX512
        if (field.contiguous_x && cubes_) {
            // Nearby rays need only 4³ points, which fit in registers; a lookup there is much
            // faster than a gather from memory.
            Corner corner, offset;
            for (std::size_t a = 0; a < 3; ++a) {
                corner[a] = min(max(lowest[a], ints(0)), ints(last_[a] - 2));
                offset[a] = at.cell[a] - corner[a];
            }
            const Ints farthest = max_unsigned(max_unsigned(offset[0], offset[1]), offset[2]);
            if (!any(rays & greater_unsigned(farthest, ints(2)))) {
                const std::ptrdiff_t at_corner = first(corner[0]) +
                                                 first(corner[1]) * field.strides[1] +
                                                 first(corner[2]) * field.strides[2];
                if (field.is_double) {
                    const double* const base = static_cast<const double*>(field.data) + at_corner;
                    return interpolate_in_cube(
                        field, rays, offset, at.fraction, [&](std::ptrdiff_t z) {
                            return load_square(base + z, field.strides[1], shift);
                        });
                }
                const float* const base = static_cast<const float*>(field.data) + at_corner;
                return interpolate_in_cube(field, rays, offset, at.fraction,
                                           [&](std::ptrdiff_t z) {
                                               return load_square(base + z, field.strides[1]);
                                           }) -
                       static_cast<float>(shift);
            }
        }
#else
        static_cast<void>(rays);
        static_cast<void>(lowest);
#endif
        return gathered_value(field, shift, at);
    }
    [[nodiscard]] UZUSHIO_INLINE Floats value(const PointValues& field, double shift,
                                              const SamplePositions& at, Mask rays) const {
        return value(field, shift, at, rays, corner(at, rays));
    }

    /// Return the same for rays at any distance from each other.
    [[nodiscard]] Floats gathered_value(const PointValues& field, double shift,
                                        const SamplePositions& at) const;

    /// Return values less `shift` at the corners (x + 2 y + 4 z) of cells.
    [[nodiscard]] UZUSHIO_INLINE std::array<Floats, 8>
    corners(const PointValues& field, double shift, const std::array<Ints, 3>& cell) const {
        const auto [sx, sy, sz] = strides(field);
        const Ints base = cell[0] * sx + cell[1] * sy + cell[2] * sz;
        std::array<Floats, 8> result;
        if (field.contiguous_x && !field.is_double) {
            const GatherIndices index(base);
            for (int e = 0; e < 4; ++e) {
                const std::ptrdiff_t edge = (e & 1) * sy + (e >> 1) * sz;
                gather_pairs(static_cast<const float*>(field.data) + edge, index, result[2 * e],
                             result[2 * e + 1]);
                result[2 * e] -= static_cast<float>(shift);
                result[2 * e + 1] -= static_cast<float>(shift);
            }
            return result;
        }
        for (int e = 0; e < 4; ++e) {
            const Ints at = base + ((e & 1) * sy + (e >> 1) * sz);
            result[2 * e] = load_one(field, shift, at);
            result[2 * e + 1] = load_one(field, shift, at + sx);
        }
        return result;
    }

    /// Return the gradient: central differences at the points, interpolated; one-sided at the ends
    /// of the stored points.
    [[nodiscard]] std::array<Floats, 3> gradient(const PointValues& field, double shift,
                                                 const SamplePositions& at) const;

    /// Return the positions of points, counted from the block's first.
    [[nodiscard]] UZUSHIO_INLINE Floats point_position(std::size_t a, Ints point) const {
        return axes_[a].point_position(point + first_[a]);
    }
    /// Return the fraction of a cell below a position, from 0 to 1. Cells are counted from the
    /// block's first point.
    [[nodiscard]] UZUSHIO_INLINE Floats fraction(std::size_t a, Floats position, Ints cell) const {
        return axes_[a].fraction(position, cell + first_[a]);
    }

    [[nodiscard]] const Block& block() const { return *block_; }
    [[nodiscard]] const Axis& axis(std::size_t a) const { return axes_[a]; }

  private:
    static UZUSHIO_INLINE std::array<std::int32_t, 3> strides(const PointValues& field) {
        return {static_cast<std::int32_t>(field.strides[0]),
                static_cast<std::int32_t>(field.strides[1]),
                static_cast<std::int32_t>(field.strides[2])};
    }
    /// Interpolate between the corners (x, y, z), each 0 or 1.
    template <class Value>
    static UZUSHIO_INLINE Floats trilinear(const Value& corner,
                                           const std::array<Floats, 3>& fraction) {
        const auto edge = [&](int y, int z) __attribute__((always_inline)) {
            const Floats low = corner(0, y, z), high = corner(1, y, z);
            return fma(fraction[0], high - low, low);
        };
        const auto face = [&](int z) __attribute__((always_inline)) {
            const Floats low = edge(0, z), high = edge(1, z);
            return fma(fraction[1], high - low, low);
        };
        const Floats low = face(0), high = face(1);
        return fma(fraction[2], high - low, low);
    }
#if UZUSHIO_RAYCAST_AVX512
    /// Interpolate in a cube of 4³ points in registers; `load` returns a plane by its offset in
    /// values, `offset` counts cells from the cube's first.
    template <class Load>
    static UZUSHIO_INLINE Floats interpolate_in_cube(const PointValues& field, Mask rays,
                                                     const Corner& offset,
                                                     const std::array<Floats, 3>& fraction,
                                                     const Load& load) {
        const std::ptrdiff_t sz = field.strides[2];
        const Floats p0 = load(0), p1 = load(sz), p2 = load(2 * sz);
        const Ints at_low = offset[0] + (offset[1] << 2) + (offset[2] << 4);
        const Mask top = equal(offset[2], ints(2));
        if (!any(rays & top))
            return trilinear(
                [&](int x, int y, int z) {
                    return lookup(z == 0 ? p0 : p1, z == 0 ? p1 : p2, at_low + (x + 4 * y));
                },
                fraction);
        const Floats p3 = load(3 * sz);
        return trilinear(
            [&](int x, int y, int z) {
                const Ints index = at_low + (x + 4 * y);
                return z == 0 ? select(top, lookup(p2, p3, index), lookup(p0, p1, index))
                              : select(top, lookup(p3, p3, index), lookup(p1, p2, index));
            },
            fraction);
    }
#endif
    static UZUSHIO_INLINE Floats load_one(const PointValues& field, double shift, Ints at) {
        if (field.is_double)
            return gather(static_cast<const double*>(field.data), at, shift);
        return gather(static_cast<const float*>(field.data), at) - static_cast<float>(shift);
    }

    const Axis* axes_;
    const Block* block_;
    std::array<std::int32_t, 3> first_, last_, low_, count_;
    std::array<Axis::Limits, 3> stored_, domain_;
    bool cubes_ = true; ///< whether the block has 4³ points
};

} // namespace uzushio::raycast
