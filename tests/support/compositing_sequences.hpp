// Sequences of pictures with changing visibility orders, known exactly to every rank: a pixel of a
// rank's image is background, or opaque with a colour that encodes picture and rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

#include "compositing/pixel.hpp"

namespace uzushio::test {

/// Return the order of picture `k`: with and without rank 0, without one rank for long, empty.
inline std::vector<int> order_of(int k, int ranks) {
    std::vector<int> order(static_cast<std::size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    const auto part = [&](int from, int to) {
        return std::vector<int>(order.begin() + std::min(from, ranks),
                                order.begin() + std::min(to, ranks));
    };
    switch (k / 20 % 5) {
    case 0: // without the first rank
        return part(1, ranks);
    case 1: // the last rank in every third
        return part(0, k % 3 == 0 ? ranks : ranks - 1);
    case 2: // one rank or none
        return k % 7 == 0 ? std::vector<int>{} : std::vector<int>{k % ranks};
    case 3: // one half of the ranks, then the other
        return k % 11 < 5 ? part(0, (ranks + 1) / 2) : part(ranks / 2, ranks);
    default: // a random subset in random order
        std::mt19937 random(static_cast<unsigned>(k));
        std::shuffle(order.begin(), order.end(), random);
        order.resize(random() % (static_cast<unsigned>(ranks) + 1));
        return order;
    }
}

/// Return the pixel of column `x` in a rank's image of picture `k`, and whether it is opaque.
template <class Pixel> Pixel pixel_of(int k, int rank, int x, float far, bool& opaque) {
    using namespace compositing;
    opaque = (5 * x + 3 * rank + k) % 8 < 3;
    const auto byte = [&](int value) { return static_cast<std::uint8_t>(opaque ? value : 0); };
    const Rgba8 colour{byte(1 + k % 255), byte(1 + k / 255), byte(1 + rank), byte(255)};
    if constexpr (std::is_same_v<Pixel, Rgba8>)
        return colour;
    else if constexpr (std::is_same_v<Pixel, RgbaFloat>)
        return {static_cast<float>(colour.r), static_cast<float>(colour.g),
                static_cast<float>(colour.b), opaque ? 1.0F : 0.0F};
    else
        return {colour, opaque ? static_cast<float>((5 * rank + k) % 3) : far};
}

/// Draw a rank's image of picture `k`, whose rows are equal.
template <class Pixel> void draw(std::span<Pixel> image, int width, int k, int rank, float far) {
    bool opaque = false;
    for (int x = 0; x < width; ++x)
        image[static_cast<std::size_t>(x)] = pixel_of<Pixel>(k, rank, x, far, opaque);
    for (auto row = static_cast<std::size_t>(width); row < image.size();
         row += static_cast<std::size_t>(width))
        std::copy_n(image.begin(), width, image.begin() + static_cast<std::ptrdiff_t>(row));
}

/// Return a row of picture `k`: in each column the front pixel, or the nearest by depth.
template <class Pixel>
std::vector<Pixel> row_of(int k, std::span<const int> order, int width, float far) {
    std::vector<Pixel> row;
    bool opaque = false;
    for (int x = 0; x < width; ++x) {
        Pixel found{};
        if constexpr (std::is_same_v<Pixel, compositing::Rgba8Depth>)
            found.depth = far;
        bool taken = false;
        for (const int rank : order) {
            const auto pixel = pixel_of<Pixel>(k, rank, x, far, opaque);
            if constexpr (std::is_same_v<Pixel, compositing::Rgba8Depth>) {
                if (opaque && pixel.depth < found.depth)
                    found = pixel;
            } else if (opaque && !taken) {
                found = pixel;
                taken = true;
            }
        }
        row.push_back(found);
    }
    return row;
}

} // namespace uzushio::test
