#include "raycast/packet.hpp"

#include <algorithm>
#include <cmath>

namespace uzushio::raycast {

namespace {

constexpr double tiny = 1e-30;

} // namespace

Packet::Packet(const Scene& scene, const Camera& camera, int width, int height, int column,
               int row) {
    const double pixel = camera.pixel(height);
    const double left = (column + 0.5 - width / 2.0) * pixel;
    const double top = (height / 2.0 - row - 0.5) * pixel;
    std::array<double, lanes> near{}, far{}, cosines{};
    if (camera.perspective) {
#pragma omp simd
        for (int i = 0; i < lanes; ++i) {
            const double u = left + (i % side) * pixel, v = top - (i / side) * pixel;
            const double scale = 1 / std::sqrt(1 + u * u + v * v);
            for (std::size_t a = 0; a < 3; ++a) {
                origins[a][i] = camera.position[a];
                directions[a][i] =
                    scale * (camera.forward[a] + u * camera.right[a] + v * camera.up[a]);
            }
            cosines[i] = scale;
        }
    } else {
#pragma omp simd
        for (int i = 0; i < lanes; ++i) {
            const double u = left + (i % side) * pixel, v = top - (i / side) * pixel;
            for (std::size_t a = 0; a < 3; ++a) {
                origins[a][i] = camera.position[a] + u * camera.right[a] + v * camera.up[a];
                directions[a][i] = camera.forward[a];
            }
            cosines[i] = 1;
        }
    }
#pragma omp simd
    for (int i = 0; i < lanes; ++i)
        far[i] = std::numeric_limits<double>::max();
    for (std::size_t a = 0; a < 3; ++a) {
        const double low = scene.axes[a].low(), high = scene.axes[a].high();
#pragma omp simd
        for (int i = 0; i < lanes; ++i) {
            const double d = directions[a][i];
            const double inverted = 1 / (std::abs(d) < tiny ? tiny : d);
            const double to_low = (low - origins[a][i]) * inverted;
            const double to_high = (high - origins[a][i]) * inverted;
            near[i] = std::max(near[i], std::min(to_low, to_high));
            far[i] = std::min(far[i], std::max(to_low, to_high));
        }
    }
    alignas(64) std::array<float, lanes> values;
    const auto convert = [&values](auto&& value) {
#pragma omp simd
        for (int i = 0; i < lanes; ++i)
            values[i] = static_cast<float>(value(i));
        return load(values.data());
    };
    enters = near;
    enter = convert([&](int i) { return near[i]; });
    length = convert([&](int i) { return std::max(far[i] - near[i], 0.0); });
    cosine = convert([&](int i) { return cosines[i]; });
    for (std::size_t a = 0; a < 3; ++a) {
        const double low = scene.axes[a].low(), scale = scene.axes[a].scale();
        direction[a] = convert([&](int i) { return directions[a][i]; });
        start[a] = convert(
            [&](int i) { return (origins[a][i] + near[i] * directions[a][i] - low) * scale; });
        along[a] = convert([&](int i) { return directions[a][i] * scale; });
        const Floats safe = select(less(abs(along[a]), floats(1e-20F)), floats(1e-20F), along[a]);
        inverse[a] = floats(1) / safe;
    }
    unsigned bits = 0;
    for (int i = 0; i < lanes; ++i)
        if (column + i % side < width && row + i / side < height)
            bits |= 1U << i;
    inside = mask_of(bits);
    hits = inside & less(floats(0), length);
}

Floats Packet::plane(const Vector3& origin, const Vector3& normal) const {
    alignas(64) std::array<float, lanes> distance;
    const double offset = dot(origin, normal);
#pragma omp simd
    for (int i = 0; i < lanes; ++i) {
        double along_normal = 0, at = 0;
        for (std::size_t a = 0; a < 3; ++a) {
            along_normal += directions[a][i] * normal[a];
            at += origins[a][i] * normal[a];
        }
        const double safe = std::abs(along_normal) < tiny ? tiny : along_normal;
        distance[i] = static_cast<float>((offset - at) / safe - enters[i]);
    }
    const Floats t = load(distance.data());
    const Mask met = hits & less_equal(floats(0), t) & less_equal(t, length);
    return select(met, t, floats(infinity));
}

} // namespace uzushio::raycast
