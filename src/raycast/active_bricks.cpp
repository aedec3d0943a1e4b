#include "raycast/active_bricks.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace uzushio::raycast {

namespace {

/// Range of bricks along an axis in which a segment can end that begins in a given brick.
struct BrickRange {
    int first, last;
    bool beyond; ///< whether it exceeds the brick's neighbours, with which it shares points
};

std::vector<BrickRange> reachable_bricks(const Scene& scene, const Block& block, std::size_t a,
                                         int count) {
    const Axis& axis = scene.axes[a];
    const auto points = axis.points().subspan(block.first_point()[a], block.points()[a]);
    const auto begin = [&](int brick) {
        return points[static_cast<std::size_t>(brick) * Bricks::size];
    };
    const auto end = [&](int brick) {
        return points[std::min<std::size_t>((brick + 1UL) * Bricks::size, points.size() - 1)];
    };
    // Along the axis a segment is at most as long as each cell that it touches, in units of steps.
    const auto longest = [&](int brick) {
        double widest = axis.bin_width();
        const auto last = std::min<std::size_t>((brick + 1UL) * Bricks::size, points.size() - 1);
        for (auto i = static_cast<std::size_t>(brick) * Bricks::size; i < last; ++i)
            widest = std::max(widest, points[i + 1] - points[i]);
        return std::min(scene.step, 1.1 * widest * scene.step_in_cells);
    };
    std::vector<BrickRange> result;
    for (int i = 0; i < count; ++i) {
        const double step = longest(i);
        int first = i, last = i;
        while (first > 0 && begin(i) - end(first - 1) < step)
            --first;
        while (last + 1 < count && begin(last + 1) - end(i) < step)
            ++last;
        result.push_back({first, last, first < i - 1 || last > i + 1});
    }
    return result;
}

struct ValueRanges {
    std::vector<float> low, high;
    std::vector<std::uint8_t> nonfinite;
};

/// Extend the range of each brick by those within reach along an axis. A direct neighbour counts
/// only if both bricks have non-finite values: otherwise they share finite points, their ranges
/// overlap, and each value between them is in one of the two ranges.
void widen(ValueRanges& ranges, const Index& count, std::size_t axis,
           const std::vector<BrickRange>& reachable) {
    const std::array<std::size_t, 3> strides{1, static_cast<std::size_t>(count[0]),
                                             static_cast<std::size_t>(count[0]) * count[1]};
    const ValueRanges before = ranges;
    for (std::size_t i = 0; i < before.low.size(); ++i) {
        const auto here = static_cast<int>(i / strides[axis] % count[axis]);
        const BrickRange& range = reachable[here];
        if (!range.beyond && before.nonfinite[i] == 0)
            continue;
        for (int j = range.first; j <= range.last; ++j) {
            const std::size_t other = i + (static_cast<std::ptrdiff_t>(j) - here) * strides[axis];
            if (!range.beyond && before.nonfinite[other] == 0)
                continue;
            ranges.low[i] = std::min(ranges.low[i], before.low[other]);
            ranges.high[i] = std::max(ranges.high[i], before.high[other]);
            ranges.nonfinite[i] = ranges.nonfinite[i] | before.nonfinite[other];
        }
    }
}

bool shows(const Isosurface& layer, float low, float high, bool /*nonfinite*/) {
    return std::any_of(layer.values.begin(), layer.values.end(),
                       [&](double value) { return Bricks::may_hold(low, high, value); });
}

bool shows(const Volume& layer, float low, float high, bool nonfinite) {
    return (nonfinite && layer.transfer->nonfinite_visible()) || layer.transfer->visible(low, high);
}

bool shows(const Slice& /*layer*/, float /*low*/, float /*high*/, bool /*nonfinite*/) {
    return false;
}

/// Compute the bits of a brick and its followers from the bits of single bricks. A bit moves by 1,
/// 2, 4 positions along x, y, z; bits from earlier axes move along.
void gather_following(ActiveBricks::Level& level, int threads) {
    const auto [nx, ny, nz] = level.count;
    const auto row = [&](int y, int z) {
        return level.following.data() +
               static_cast<std::size_t>(nx) * (y + static_cast<std::size_t>(ny) * z);
    };
    const auto add = [](std::uint8_t* to, const std::uint8_t* from, int count, int places) {
        for (int x = 0; x < count; ++x)
            to[x] = static_cast<std::uint8_t>(to[x] | from[x] << places);
    };
#pragma omp parallel for num_threads(threads)
    for (int z = 0; z < nz; ++z) {
        for (int y = 0; y < ny; ++y)
            add(row(y, z), row(y, z) + 1, nx - 1, 1);
        for (int y = 0; y + 1 < ny; ++y)
            add(row(y, z), row(y + 1, z), nx, 2);
    }
    for (int z = 0; z + 1 < nz; ++z)
        add(row(0, z), row(0, z + 1), nx * ny, 4);
}

/// Return the level with bricks twice as long.
ActiveBricks::Level coarser(const ActiveBricks::Level& fine) {
    ActiveBricks::Level result;
    for (std::size_t a = 0; a < 3; ++a)
        result.count[a] = (fine.count[a] + 1) / 2;
    result.following.resize(
        static_cast<std::size_t>(result.count[0]) * result.count[1] * result.count[2] + 3);
    const std::size_t nx = result.count[0], ny = result.count[1];
    std::size_t i = 0;
    for (int z = 0; z < fine.count[2]; ++z)
        for (int y = 0; y < fine.count[1]; ++y)
            for (int x = 0; x < fine.count[0]; ++x, ++i)
                if (fine.following[i] != 0)
                    result.following[x / 2 + nx * (y / 2 + ny * (z / 2))] = 1;
    return result;
}

} // namespace

ActiveBricks find_active_bricks(const Scene& scene, const Block& block,
                                const std::function<std::size_t(std::size_t)>& field, int threads) {
    ActiveBricks active_bricks;
    ActiveBricks::Level bricks;
    for (const auto& layer : scene.layers) {
        if (std::holds_alternative<Slice>(layer))
            continue;
        const std::size_t number = std::visit([](const auto& l) { return l.field; }, layer);
        const Bricks& values = block.bricks(field(number), threads);
        bricks.count = values.count;
        // Iso-surfaces are found cell by cell; a volume's segment is sampled only at its ends.
        std::optional<ValueRanges> widened;
        for (std::size_t a = 0; a < 3 && std::holds_alternative<Volume>(layer); ++a) {
            const auto reach = reachable_bricks(scene, block, a, values.count[a]);
            if (!values.any_nonfinite && std::none_of(reach.begin(), reach.end(),
                                                      [](const BrickRange& w) { return w.beyond; }))
                continue;
            if (!widened)
                widened = {values.low, values.high, values.has_nonfinite};
            widen(*widened, values.count, a, reach);
        }
        const float* const low = widened ? widened->low.data() : values.low.data();
        const float* const high = widened ? widened->high.data() : values.high.data();
        const std::uint8_t* const nonfinite =
            widened ? widened->nonfinite.data() : values.has_nonfinite.data();
        const auto count = static_cast<std::ptrdiff_t>(values.low.size());
        bricks.following.resize(count + 3);
        std::visit(
            [&](const auto& l) {
#pragma omp parallel for num_threads(threads)
                for (std::ptrdiff_t i = 0; i < count; ++i)
                    if (shows(l, low[i], high[i], nonfinite[i] != 0))
                        bricks.following[i] = 1;
            },
            layer);
    }
    const auto active = std::count(bricks.following.begin(), bricks.following.end(), 1);
    active_bricks.any = active > 0;
    active_bricks.all = active + 3 == static_cast<std::ptrdiff_t>(bricks.following.size());
    if (!active_bricks.any || active_bricks.all)
        return active_bricks;
    active_bricks.levels.push_back(std::move(bricks));
    while (active_bricks.levels.back().following.size() > 4)
        active_bricks.levels.push_back(coarser(active_bricks.levels.back()));
    for (auto& level : active_bricks.levels)
        gather_following(level, threads);
    return active_bricks;
}

} // namespace uzushio::raycast
