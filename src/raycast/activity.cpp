#include "raycast/activity.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace uzushio::raycast {

namespace {

constexpr int far = 250;

using Windows = std::vector<std::pair<int, int>>;

/// For each brick along an axis, the first and last that a segment which begins in it may end in,
/// or the brick alone if those are just its neighbours, which share points with it.
Windows windows(const Axis& axis, const Block& block, std::size_t a, int count, double step) {
    const auto points = axis.points().subspan(block.first_point()[a], block.points()[a]);
    const auto begin = [&](int brick) {
        return points[static_cast<std::size_t>(brick) * Bricks::size];
    };
    const auto end = [&](int brick) {
        return points[std::min<std::size_t>((brick + 1UL) * Bricks::size, points.size() - 1)];
    };
    Windows result;
    for (int i = 0; i < count; ++i) {
        int first = i, last = i;
        while (first > 0 && begin(i) - end(first - 1) < step)
            --first;
        while (last + 1 < count && begin(last + 1) - end(i) < step)
            ++last;
        if (first >= i - 1 && last <= i + 1)
            first = last = i;
        result.emplace_back(first, last);
    }
    return result;
}

bool trivial(const Windows& windows) {
    return std::all_of(windows.begin(), windows.end(),
                       [](const auto& w) { return w.first == w.second; });
}

struct Ranges {
    std::vector<float> low, high;
    std::vector<std::uint8_t> nan;
};

/// Take in what lies within reach along an axis.
void widen(Ranges& ranges, const Index& count, std::size_t axis, const Windows& windows) {
    const std::array<std::size_t, 3> strides{1, static_cast<std::size_t>(count[0]),
                                             static_cast<std::size_t>(count[0]) * count[1]};
    const Ranges before = ranges;
    for (std::size_t i = 0; i < before.low.size(); ++i) {
        const auto here = static_cast<int>(i / strides[axis] % count[axis]);
        for (int j = windows[here].first; j <= windows[here].second; ++j) {
            const std::size_t other = i + (static_cast<std::ptrdiff_t>(j) - here) * strides[axis];
            ranges.low[i] = std::min(ranges.low[i], before.low[other]);
            ranges.high[i] = std::max(ranges.high[i], before.high[other]);
            ranges.nan[i] = ranges.nan[i] | before.nan[other];
        }
    }
}

bool shows(const Isosurface& layer, float low, float high, bool /*nan*/) {
    // As much as interpolation may round.
    const double margin = 1e-6 * std::max(std::abs(low), std::abs(high));
    return std::any_of(layer.values.begin(), layer.values.end(), [&](double value) {
        return value >= low - margin && value <= high + margin;
    });
}

bool shows(const Volume& layer, float low, float high, bool nan) {
    return (nan && layer.transfer->nan_visible()) || layer.transfer->visible(low, high);
}

bool shows(const Slice& /*layer*/, float /*low*/, float /*high*/, bool /*nan*/) { return false; }

/// Distances along the farthest axis, from zeros where there is activity: two sweeps over all
/// neighbours that have been visited before.
void spread(Activity& activity) {
    const auto [nx, ny, nz] = activity.count;
    const auto at = [&](int y, int z) {
        return activity.distance.data() +
               static_cast<std::size_t>(nx) * (y + static_cast<std::size_t>(ny) * z);
    };
    std::vector<std::uint8_t> best(nx + 2, far); // with one more at either end
    const auto sweep = [&](int y, int z, int side) {
        std::fill(best.begin(), best.end(), far);
        const auto take = [&](int other_y, int other_z) {
            if (other_y < 0 || other_y >= ny || other_z < 0 || other_z >= nz)
                return;
            const std::uint8_t* const row = at(other_y, other_z);
            for (int x = 0; x < nx; ++x)
                best[x + 1] = std::min(best[x + 1], row[x]);
        };
        take(y - 1, z + side);
        take(y, z + side);
        take(y + 1, z + side);
        take(y + side, z);
        std::uint8_t* const row = at(y, z);
        for (int x = 0; x < nx; ++x) {
            const int near = std::min({best[x], best[x + 1], best[x + 2]});
            row[x] = static_cast<std::uint8_t>(std::min<int>(row[x], std::min(near + 1, far)));
        }
        for (int x = 1; x < nx; ++x)
            row[x] = static_cast<std::uint8_t>(std::min<int>(row[x], row[x - 1] + 1));
        for (int x = nx - 2; x >= 0; --x)
            row[x] = static_cast<std::uint8_t>(std::min<int>(row[x], row[x + 1] + 1));
    };
    for (int z = 0; z < nz; ++z)
        for (int y = 0; y < ny; ++y)
            sweep(y, z, -1);
    for (int z = nz - 1; z >= 0; --z)
        for (int y = ny - 1; y >= 0; --y)
            sweep(y, z, 1);
}

} // namespace

Activity find_activity(const Scene& scene, const Block& block,
                       const std::function<std::size_t(std::size_t)>& field, int threads) {
    Activity activity;
    for (const auto& layer : scene.layers) {
        if (std::holds_alternative<Slice>(layer))
            continue;
        const std::size_t number = std::visit([](const auto& l) { return l.field; }, layer);
        const Bricks& bricks = block.bricks(field(number), threads);
        activity.count = bricks.count;
        Ranges ranges{bricks.low, bricks.high, bricks.has_nan};
        for (std::size_t a = 0; a < 3; ++a) {
            const auto reach = windows(scene.axes[a], block, a, bricks.count[a], scene.step);
            if (!trivial(reach))
                widen(ranges, bricks.count, a, reach);
        }
        activity.distance.resize(bricks.low.size() + 3, far);
        for (std::size_t i = 0; i < bricks.low.size(); ++i)
            if (std::visit(
                    [&](const auto& l) {
                        return shows(l, ranges.low[i], ranges.high[i], ranges.nan[i] != 0);
                    },
                    layer))
                activity.distance[i] = 0;
    }
    const std::size_t bricks = activity.distance.size() < 3 ? 0 : activity.distance.size() - 3;
    const auto active =
        std::count(activity.distance.begin(),
                   activity.distance.begin() + static_cast<std::ptrdiff_t>(bricks), 0);
    activity.any = active > 0;
    activity.all = active == static_cast<std::ptrdiff_t>(bricks);
    if (activity.any && !activity.all)
        spread(activity);
    return activity;
}

} // namespace uzushio::raycast
