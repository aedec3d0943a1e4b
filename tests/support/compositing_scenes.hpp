// Images that ranks composite in tests, computed identically on every rank, and the error of a
// picture relative to double precision.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "compositing/pixel.hpp"

namespace uzushio::test {

/// Return a reproducible number in [0, 1) for each combination of arguments.
inline double noise(int a, int b, int c) {
    std::uint64_t x = static_cast<std::uint64_t>(a) * 0x9E3779B97F4A7C15U ^
                      static_cast<std::uint64_t>(b) * 0xC2B2AE3D27D4EB4FU ^
                      static_cast<std::uint64_t>(c) * 0x165667B19E3779F9U;
    for (int i = 0; i < 3; ++i)
        x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9U;
    return static_cast<double>(x >> 40) / static_cast<double>(1U << 24);
}

/// Content of the ranks' images.
enum class Scene {
    veils,    ///< every pixel of every rank, of low opacity: all layers contribute
    surfaces, ///< every pixel, often opaque
    discs,    ///< another disc on each rank
    corner,   ///< all data in one corner of the picture
    empty     ///< no pixels on odd ranks, a few on even ranks
};

inline std::string name(Scene scene) {
    constexpr std::array<const char*, 5> names{"veils", "surfaces", "discs", "corner", "empty"};
    return names[static_cast<std::size_t>(scene)];
}

/// Return whether rank `rank` of `ranks` has data in pixel (x, y) of an image of size (w, h).
inline bool covers(Scene scene, int rank, int ranks, int x, int y, int w, int h) {
    switch (scene) {
    case Scene::veils:
    case Scene::surfaces:
        return true;
    case Scene::discs: {
        const double angle = 6.283 * rank / ranks;
        const double dx = x - w * (0.5 + 0.25 * std::cos(angle));
        const double dy = y - h * (0.5 + 0.25 * std::sin(angle));
        return dx * dx + dy * dy < 0.04 * w * h;
    }
    case Scene::corner:
        return x < w / 3 && y < h / 4;
    case Scene::empty:
        return rank % 2 == 0 && (x * 7 + y * 13 + rank) % 97 == 0;
    }
    return false;
}

/// Return a premultiplied colour in [0, 1].
inline std::array<double, 4> colour(Scene scene, int rank, int x, int y) {
    const int pixel = 8192 * y + x;
    double opacity = noise(rank, pixel, 1);
    opacity = scene == Scene::veils ? 0.02 + 0.1 * opacity : opacity < 0.3 ? 1.0 : opacity;
    std::array<double, 4> result{};
    for (int c = 0; c < 3; ++c)
        result[static_cast<std::size_t>(c)] = opacity * noise(rank, pixel, 2 + c);
    result[3] = opacity;
    return result;
}

inline std::uint8_t byte(double value) { return static_cast<std::uint8_t>(255 * value + 0.5); }

template <class Pixel>
std::vector<Pixel> image(Scene scene, int rank, int ranks, int w, int h, float far) {
    using namespace compositing;
    Pixel background{};
    if constexpr (std::is_same_v<Pixel, Rgba8Depth>)
        background.depth = far;
    std::vector<Pixel> pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h),
                              background);
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            if (!covers(scene, rank, ranks, x, y, w, h))
                continue;
            const auto c = colour(scene, rank, x, y);
            auto& pixel = pixels[static_cast<std::size_t>(y * w + x)];
            const Rgba8 bytes{byte(c[0]), byte(c[1]), byte(c[2]), byte(c[3])};
            if constexpr (std::is_same_v<Pixel, Rgba8>)
                pixel = bytes;
            else if constexpr (std::is_same_v<Pixel, RgbaFloat>)
                pixel = {static_cast<float>(c[0]), static_cast<float>(c[1]),
                         static_cast<float>(c[2]), static_cast<float>(c[3])};
            else // few different depths, so that some are equal
                pixel = {bytes, static_cast<float>(std::floor(8 * noise(rank, x + 8192 * y, 9)))};
        }
    return pixels;
}

/// Return the maximum difference of a picture from that of `images`, front to back, in double
/// precision: in units of 1/255 for colours, infinity for a wrong pixel by depth.
template <class Pixel>
double error(std::span<const Pixel> picture, const std::vector<std::vector<Pixel>>& images,
             std::size_t first, float far) {
    using namespace compositing;
    double worst = 0;
    for (std::size_t i = 0; i < picture.size(); ++i) {
        if constexpr (std::is_same_v<Pixel, Rgba8Depth>) {
            Pixel nearest{{}, far};
            for (const auto& pixels : images)
                if (pixels[first + i].depth < nearest.depth)
                    nearest = pixels[first + i];
            if (picture[i] != nearest)
                return std::numeric_limits<double>::infinity();
        } else {
            constexpr double unit = std::is_same_v<Pixel, Rgba8> ? 1.0 : 255.0;
            double sum[4] = {}, clear = 1;
            for (const auto& pixels : images) {
                const auto& p = pixels[first + i];
                const double values[4] = {unit * p.r, unit * p.g, unit * p.b, unit * p.a};
                for (int c = 0; c < 4; ++c)
                    sum[c] += clear * values[c];
                clear *= 1 - values[3] / 255;
            }
            const auto& p = picture[i];
            const double values[4] = {unit * p.r, unit * p.g, unit * p.b, unit * p.a};
            for (int c = 0; c < 4; ++c)
                worst = std::max(worst, std::abs(values[c] - std::min(sum[c], 255.0)));
        }
    }
    return worst;
}

} // namespace uzushio::test
