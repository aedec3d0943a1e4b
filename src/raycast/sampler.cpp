#include "raycast/sampler.hpp"

namespace uzushio::raycast {

Floats Sampler::gathered_value(const PointValues& field, double shift,
                               const SamplePositions& at) const {
    const auto [sx, sy, sz] = strides(field);
    const Ints base = at.cell[0] * sx + at.cell[1] * sy + at.cell[2] * sz;
    if (field.contiguous_x && !field.is_double) {
        const auto* const data = static_cast<const float*>(field.data);
        std::array<Floats, 8> corners;
        const GatherIndices index(base);
        for (int e = 0; e < 4; ++e)
            gather_pairs(data + ((e & 1) * sy + (e >> 1) * sz), index, corners[2 * e],
                         corners[2 * e + 1]);
        return trilinear([&](int x, int y, int z) { return corners[x + 2 * y + 4 * z]; },
                         at.fraction) -
               static_cast<float>(shift);
    }
    return trilinear(
        [&, x1 = sx, y1 = sy, z1 = sz](int x, int y, int z) {
            return load_one(field, shift, base + (x * x1 + y * y1 + z * z1));
        },
        at.fraction);
}

std::array<Floats, 3> Sampler::gradient(const PointValues& field, double shift,
                                        const SamplePositions& at) const {
    const auto s = strides(field);
    std::array<Floats, 3> result;
    for (std::size_t a = 0; a < 3; ++a) {
        const std::size_t b = (a + 1) % 3, c = (a + 2) % 3;
        const Ints base = at.cell[b] * s[b] + at.cell[c] * s[c];
        // Interpolate four values in the plane across the axis.
        const auto across = [&](Ints point) {
            const Ints from = base + point * s[a];
            const Floats v00 = load_one(field, shift, from),
                         v10 = load_one(field, shift, from + s[b]);
            const Floats v01 = load_one(field, shift, from + s[c]);
            const Floats v11 = load_one(field, shift, from + (s[b] + s[c]));
            const Floats near = fma(at.fraction[b], v10 - v00, v00);
            const Floats far = fma(at.fraction[b], v11 - v01, v01);
            return fma(at.fraction[c], far - near, near);
        };
        const Ints low = at.cell[a], high = low + 1;
        const Ints below = max(low - 1, ints(0)), above = min(high + 1, ints(last_[a] + 1));
        const auto where = [&](Ints point) { return axes_[a].point_position(point + first_[a]); };
        const Floats at_low = (across(high) - across(below)) / (where(high) - where(below));
        const Floats at_high = (across(above) - across(low)) / (where(above) - where(low));
        result[a] =
            fma(at.fraction[a], at_high - at_low, at_low) * static_cast<float>(axes_[a].scale());
    }
    return result;
}

} // namespace uzushio::raycast
