#include "raycast/ray_packet.hpp"

#include <algorithm>
#include <cmath>

namespace uzushio::raycast {

namespace {

constexpr double tiny = 1e-30;

} // namespace

RayPacket::RayPacket(const Scene& scene, const Camera& camera, int width, int height, int column,
                     int row) {
    const Vector3 low = scene.low(), high = scene.high();
    const Vector3 scales{scene.axes[0].scale(), scene.axes[1].scale(), scene.axes[2].scale()};
    const double pixel = camera.pixel(height);
    const double left = (column + 0.5 - width / 2.0) * pixel;
    const double top = (height / 2.0 - row - 0.5) * pixel;
    const double spread = camera.perspective ? 1 : 0; // of directions, otherwise of origins
    using Lanes = std::array<double, lanes>;
    alignas(64) std::array<Lanes, 3> starts, speeds;
    alignas(64) Lanes lengths, cosines;
    // One loop, so that a ray's values stay in registers until they are complete.
#pragma omp simd
    for (int i = 0; i < lanes; ++i) {
        const double u = left + (i % side) * pixel, v = top - (i / side) * pixel;
        const double scale = 1 / std::sqrt(1 + spread * (u * u + v * v));
        double near = 0, far = std::numeric_limits<double>::max();
        for (std::size_t a = 0; a < 3; ++a) {
            const double across = u * camera.right[a] + v * camera.up[a];
            const double origin = camera.position[a] + (1 - spread) * across;
            const double d = scale * (camera.forward[a] + spread * across);
            const double inverted = 1 / (std::abs(d) < tiny ? tiny : d);
            const double to_low = (low[a] - origin) * inverted;
            const double to_high = (high[a] - origin) * inverted;
            near = std::max(near, std::min(to_low, to_high));
            far = std::min(far, std::max(to_low, to_high));
            origins[a][i] = origin;
            directions[a][i] = d;
            speeds[a][i] = d * scales[a];
        }
        for (std::size_t a = 0; a < 3; ++a)
            starts[a][i] = (origins[a][i] + near * directions[a][i] - low[a]) * scales[a];
        enters[i] = near;
        lengths[i] = std::max(far - near, 0.0);
        cosines[i] = scale;
    }
    enter = load_floats(enters.data());
    length = load_floats(lengths.data());
    cosine = load_floats(cosines.data());
    for (std::size_t a = 0; a < 3; ++a) {
        direction[a] = load_floats(directions[a].data());
        start[a] = load_floats(starts[a].data());
        along[a] = load_floats(speeds[a].data());
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

Floats RayPacket::plane(const Vector3& origin, const Vector3& normal) const {
    alignas(64) std::array<double, lanes> distance;
    const double offset = dot(origin, normal);
#pragma omp simd
    for (int i = 0; i < lanes; ++i) {
        double along_normal = 0, at = 0;
        for (std::size_t a = 0; a < 3; ++a) {
            along_normal += directions[a][i] * normal[a];
            at += origins[a][i] * normal[a];
        }
        const double safe = std::abs(along_normal) < tiny ? tiny : along_normal;
        distance[i] = (offset - at) / safe - enters[i];
    }
    const Floats t = load_floats(distance.data());
    const Mask met = hits & less_equal(floats(0), t) & less_equal(t, length);
    return select(met, t, floats(infinity));
}

} // namespace uzushio::raycast
