#include "raycast/block.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace uzushio::raycast {

namespace {

/// Return whether offsets within a block do not fit in the kernels' 32-bit integers.
bool exceeds_int32(const PointValues& field, const Index& points) {
    std::int64_t span = 0;
    for (std::size_t a = 0; a < 3; ++a)
        span += std::abs(field.strides[a]) * (points[a] - 1);
    return span > std::numeric_limits<std::int32_t>::max();
}

} // namespace

Block::Block(const Index& first_point, const Index& points, const Index& first_cell,
             const Index& cells, std::vector<PointValues> fields)
    : first_point_(first_point), points_(points), first_cell_(first_cell), cells_(cells),
      fields_(std::move(fields)), bricks_(fields_.size()) {
    if (empty())
        return;
    for (std::size_t a = 0; a < 3; ++a)
        if (first_cell[a] < first_point[a] ||
            first_cell[a] + cells[a] > first_point[a] + points[a] - 1)
            throw std::invalid_argument("a block must store all points of the cells that it draws");
    for (const auto& field : fields_)
        if (exceeds_int32(field, points_))
            throw std::invalid_argument(
                "the values of a block lie more than 2^31 apart; divide it into smaller blocks");
}

const Bricks& Block::bricks(std::size_t field, int threads) const {
    const std::lock_guard lock(mutex_);
    if (!bricks_[field])
        bricks_[field] = std::make_unique<const Bricks>(fields_[field], points_, threads);
    return *bricks_[field];
}

std::int64_t Block::count_nonfinite(std::size_t field, const Index& domain_points) const {
    const auto& view = fields_[field];
    Index begin, end;
    for (std::size_t a = 0; a < 3; ++a) {
        begin[a] = first_cell_[a] - first_point_[a];
        end[a] = begin[a] + cells_[a];
        if (first_cell_[a] + cells_[a] == domain_points[a] - 1)
            ++end[a];
    }
    std::int64_t count = 0;
    for (std::int64_t z = begin[2]; z < end[2]; ++z)
        for (std::int64_t y = begin[1]; y < end[1]; ++y)
            for (std::int64_t x = begin[0]; x < end[0]; ++x)
                count += !std::isfinite(static_cast<float>(
                    view.at(x * view.strides[0] + y * view.strides[1] + z * view.strides[2])));
    return count;
}

} // namespace uzushio::raycast
