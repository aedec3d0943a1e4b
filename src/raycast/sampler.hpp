#pragma once

#include <array>

#include "raycast/block.hpp"
#include "raycast/packet.hpp"
#include "raycast/scene.hpp"

namespace uzushio::raycast {

/// Cells of sixteen positions, counted from a block's first point, and places within them.
struct Places {
    std::array<Ints, 3> cell;
    std::array<Floats, 3> part;
};

/// Interpolates the fields of a block. All reads are within what the block stores.
class Sampler {
  public:
    Sampler(const Scene& scene, const Block& block) : axes_(scene.axes.data()), block_(&block) {
        for (std::size_t a = 0; a < 3; ++a) {
            first_[a] = block.first_point()[a];
            last_[a] = block.points()[a] - 2;
            low_[a] = block.first_cell()[a];
            count_[a] = block.cells()[a];
        }
    }

    [[nodiscard]] UZUSHIO_INLINE Places places(const Packet& packet, Floats distance) const {
        Places result;
        for (std::size_t a = 0; a < 3; ++a) {
            const auto place = axes_[a].place(packet.position(a, distance));
            result.cell[a] = min(max(place.cell - first_[a], ints(0)), ints(last_[a]));
            result.part[a] = place.part;
        }
        return result;
    }

    /// Whether positions are in the block's own cells.
    [[nodiscard]] UZUSHIO_INLINE Mask owns(const Packet& packet, Floats distance) const {
        Mask result = mask_of(0xffff);
        for (std::size_t a = 0; a < 3; ++a) {
            const Ints cell = axes_[a].cell(packet.position(a, distance)) - low_[a];
            result = result & less_equal(ints(0), cell) & less(cell, ints(count_[a]));
        }
        return result;
    }

    /// Values less `shift`.
    [[nodiscard]] UZUSHIO_INLINE Floats value(const FieldView& field, double shift,
                                              const Places& at) const {
        const auto [sx, sy, sz] = strides(field);
        const Ints base = at.cell[0] * sx + at.cell[1] * sy + at.cell[2] * sz;
        if (!field.wide && sx == 1) {
            const auto* const data = static_cast<const float*>(field.data);
            Floats a0, a1, b0, b1, c0, c1, d0, d1;
            gather_pairs(data, base, a0, a1);
            gather_pairs(data, base + sy, b0, b1);
            gather_pairs(data, base + sz, c0, c1);
            gather_pairs(data, base + (sy + sz), d0, d1);
            const Floats a = fma(at.part[0], a1 - a0, a0), b = fma(at.part[0], b1 - b0, b0);
            const Floats c = fma(at.part[0], c1 - c0, c0), d = fma(at.part[0], d1 - d0, d0);
            const Floats near = fma(at.part[1], b - a, a), far = fma(at.part[1], d - c, c);
            return fma(at.part[2], far - near, near) - static_cast<float>(shift);
        }
        std::array<Floats, 4> edges;
        for (int e = 0; e < 4; ++e) {
            const Ints from = base + ((e & 1) * sy + (e >> 1) * sz);
            const Floats low = one(field, shift, from), high = one(field, shift, from + sx);
            edges[e] = fma(at.part[0], high - low, low);
        }
        const Floats near = fma(at.part[1], edges[1] - edges[0], edges[0]);
        const Floats far = fma(at.part[1], edges[3] - edges[2], edges[2]);
        return fma(at.part[2], far - near, near);
    }

    /// Of central differences at the points, interpolated; one-sided at the ends of what is stored.
    [[nodiscard]] std::array<Floats, 3> gradient(const FieldView& field, double shift,
                                                 const Places& at) const;

    [[nodiscard]] const Block& block() const { return *block_; }
    [[nodiscard]] const Axis& axis(std::size_t a) const { return axes_[a]; }

  private:
    static UZUSHIO_INLINE std::array<std::int32_t, 3> strides(const FieldView& field) {
        return {static_cast<std::int32_t>(field.strides[0]),
                static_cast<std::int32_t>(field.strides[1]),
                static_cast<std::int32_t>(field.strides[2])};
    }
    static UZUSHIO_INLINE Floats one(const FieldView& field, double shift, Ints at) {
        if (field.wide)
            return gather(static_cast<const double*>(field.data), at, shift);
        return gather(static_cast<const float*>(field.data), at) - static_cast<float>(shift);
    }

    const Axis* axes_;
    const Block* block_;
    std::array<std::int32_t, 3> first_, last_, low_, count_;
};

} // namespace uzushio::raycast
