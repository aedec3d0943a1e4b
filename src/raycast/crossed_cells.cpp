#include "raycast/crossed_cells.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "raycast/simd.hpp"

namespace uzushio::raycast {

namespace {

static_assert(Bricks::size == 4, "a brick's cells are the bits of a number");

/// Load up to sixteen values along x, less `shift`; NaN in the remaining lanes.
Floats load_row(const PointValues& field, double shift, std::int64_t at, int count) {
    const auto less = static_cast<float>(shift);
    if (field.contiguous_x && field.is_double)
        return load_partial(static_cast<const double*>(field.data) + at, count, shift);
    if (field.contiguous_x)
        return load_partial(static_cast<const float*>(field.data) + at, count) - less;
    std::array<float, lanes> row;
    row.fill(quiet_nan);
    for (int i = 0; i < count; ++i) {
        const auto here = at + i * field.strides[0];
        row[i] = field.is_double ? static_cast<float>(field.at(here) - shift)
                                 : static_cast<const float*>(field.data)[here] - less;
    }
    return load(row.data());
}

/// Return the bits of a brick's crossed cells; `first` is its first point.
std::uint64_t cells_of(const PointValues& field, const Index& first, const Index& points,
                       double shift, Floats value) {
    constexpr int size = Bricks::size;
    const int count = std::min(size + 1, points[0] - first[0]);
    // A bit for each point along x, then for each cell: any point below, all points below.
    std::array<std::uint64_t, size + 1> any{}, all{};
    for (int z = 0; z <= size; ++z) {
        const std::int64_t plane =
            first[0] * field.strides[0] + std::min(first[2] + z, points[2] - 1) * field.strides[2];
        unsigned any_before = 0, all_before = 0;
        for (int y = 0; y <= size; ++y) {
            const std::int64_t at =
                plane + std::min(first[1] + y, points[1] - 1) * field.strides[1];
            const unsigned below = bits_of(less(load_row(field, shift, at, count), value));
            const unsigned any_here = below | below >> 1, all_here = below & below >> 1;
            if (y > 0) {
                any[z] |= std::uint64_t{(any_before | any_here) & 15} << (4 * (y - 1));
                all[z] |= std::uint64_t{(all_before & all_here) & 15} << (4 * (y - 1));
            }
            any_before = any_here;
            all_before = all_here;
        }
    }
    std::uint64_t result = 0;
    for (int z = 0; z < size; ++z)
        result |= ((any[z] | any[z + 1]) & ~(all[z] & all[z + 1])) << (16 * z);
    return result;
}

} // namespace

void CrossedCells::add(const PointValues& field, const Bricks& ranges, const Index& points,
                       double shift, double value, int threads) {
    count_ = ranges.count;
    bits_.resize(ranges.low.size());
    const Floats level = floats(static_cast<float>(value - shift));
#pragma omp parallel for collapse(2) schedule(dynamic, 16) num_threads(threads)
    for (int z = 0; z < count_[2]; ++z)
        for (int y = 0; y < count_[1]; ++y)
            for (int x = 0; x < count_[0]; ++x) {
                const std::size_t i = ranges.number(x, y, z);
                if (Bricks::may_hold(ranges.low[i], ranges.high[i], value))
                    bits_[i] |=
                        cells_of(field, {x * Bricks::size, y * Bricks::size, z * Bricks::size},
                                 points, shift, level);
            }
}

bool CrossedCells::any_in(const Index& low, const Index& high) const {
    // Mask of a brick's cells that lie in the box along an axis, with so many bits per cell.
    const auto along = [&](std::size_t a, int brick, int bits) {
        const int begin = std::max(low[a] - brick * Bricks::size, 0);
        const int end = std::min(high[a] - brick * Bricks::size, Bricks::size - 1);
        return (~std::uint64_t{0} >> (64 - bits * (end - begin + 1))) << (bits * begin);
    };
    for (int z = low[2] >> Bricks::shift; z <= high[2] >> Bricks::shift; ++z) {
        const std::uint64_t of_z = along(2, z, 16);
        for (int y = low[1] >> Bricks::shift; y <= high[1] >> Bricks::shift; ++y) {
            const std::uint64_t of_yz = of_z & (along(1, y, 4) * 0x0001000100010001U);
            const std::uint64_t* const row =
                bits_.data() + count_[0] * (y + static_cast<std::size_t>(count_[1]) * z);
            for (int x = low[0] >> Bricks::shift; x <= high[0] >> Bricks::shift; ++x)
                if ((row[x] & of_yz & (along(0, x, 1) * 0x1111111111111111U)) != 0)
                    return true;
        }
    }
    return false;
}

} // namespace uzushio::raycast
