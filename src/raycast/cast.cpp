#include "raycast/cast.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>

#include "raycast/ray_marcher.hpp"

namespace uzushio::raycast {

namespace {

constexpr int tile = 32; // pixels; a multiple of a packet's side
constexpr int side = RayPacket::side;

std::size_t pixel_bytes(PixelFormat format) { return format == PixelFormat::rgba8 ? 4 : 16; }

void clear(const ImageBuffer& buffer, int width, int row, int begin, int end) {
    const std::size_t size = pixel_bytes(buffer.format), at = static_cast<std::size_t>(row) * width;
    if (begin >= end)
        return;
    std::memset(buffer.pixels + (at + begin) * size, 0, (end - begin) * size);
    if (buffer.depth != nullptr)
        std::fill(buffer.depth + at + begin, buffer.depth + at + end, infinity);
}

UZUSHIO_INLINE Ints to_byte(Floats value) {
    return to_ints(fma(min(max(value, floats(0)), floats(1)), floats(255), floats(0.5F)));
}

void write(const ImageBuffer& buffer, const PacketPixels& pixels, int width, int column, int row,
           int columns, int rows) {
    const Floats opacity = floats(1) - pixels.transmittance;
    alignas(64) std::array<std::int32_t, lanes> bytes;
    alignas(64) std::array<std::array<float, lanes>, 4> channels;
    if (buffer.format == PixelFormat::rgba8) {
        store(bytes.data(), to_byte(pixels.red) | (to_byte(pixels.green) << 8) |
                                (to_byte(pixels.blue) << 16) | (to_byte(opacity) << 24));
    } else {
        store(channels[0].data(), pixels.red);
        store(channels[1].data(), pixels.green);
        store(channels[2].data(), pixels.blue);
        store(channels[3].data(), opacity);
    }
    alignas(64) std::array<float, lanes> depth;
    store(depth.data(), pixels.depth);
    const std::size_t size = pixel_bytes(buffer.format);
    for (int r = 0; r < rows; ++r) {
        const std::size_t at = static_cast<std::size_t>(row + r) * width + column;
        std::byte* const out = buffer.pixels + at * size;
        if (buffer.format == PixelFormat::rgba8) {
            std::memcpy(out, &bytes[side * r], columns * size);
        } else {
            for (int c = 0; c < columns; ++c) {
                const int lane = side * r + c;
                const std::array<float, 4> color{channels[0][lane], channels[1][lane],
                                                 channels[2][lane], channels[3][lane]};
                std::memcpy(out + c * size, color.data(), size);
            }
        }
        if (buffer.depth != nullptr)
            std::copy_n(&depth[side * r], columns, buffer.depth + at);
    }
}

/// Add the ranges of the layers' fields and their numbers of non-finite values.
void describe_fields(const Scene& scene, std::span<const BlockSource> sources, int threads,
                     CastStatistics& statistics) {
    statistics.ranges.resize(scene.layers.size());
    std::set<std::size_t> counted;
    for (std::size_t i = 0; i < scene.layers.size(); ++i) {
        if (std::holds_alternative<Slice>(scene.layers[i]))
            continue;
        const std::size_t field =
            std::visit([](const auto& l) { return l.field; }, scene.layers[i]);
        auto& range = statistics.ranges[i];
        const bool first = counted.insert(field).second;
        for (const auto& source : sources) {
            if (source.block->empty())
                continue;
            const Bricks& bricks = source.block->bricks(source.fields[field], threads);
            if (bricks.any_nonfinite && first)
                statistics.nonfinite_count +=
                    source.block->count_nonfinite(source.fields[field], scene.points());
            if (bricks.min > bricks.max)
                continue;
            if (range)
                range = {std::min(range->first, bricks.min), std::max(range->second, bricks.max)};
            else
                range = {bricks.min, bricks.max};
        }
    }
}

/// Interruption of all threads by a function that the calling thread calls at intervals.
class Interruption {
  public:
    explicit Interruption(const std::function<bool()>& interrupted) : interrupted_(interrupted) {}

    /// Return whether the work is interrupted; each thread calls it before a tile.
    bool check() {
        if (interrupted_ && omp_get_thread_num() == 0 && !set_ && Clock::now() >= next_) {
            set_ = interrupted_();
            next_ = Clock::now() + std::chrono::milliseconds(50);
        }
        return set_;
    }

  private:
    using Clock = std::chrono::steady_clock;
    const std::function<bool()>& interrupted_;
    std::atomic<bool> set_ = false;
    Clock::time_point next_ = Clock::now();
};

} // namespace

CastStatistics cast(const Scene& scene, const Camera& camera, int width, int height,
                    std::span<const BlockSource> sources, const ImageBuffer& buffer, int threads,
                    const std::function<bool()>& interrupted) {
    CastStatistics statistics;
    Interruption interruption(interrupted);
    const CastPlan plan(scene, camera, width, height, sources, threads);
    statistics.pixel_bounds = plan.pixel_bounds;
    statistics.hits.resize(scene.layers.size());
    describe_fields(scene, sources, threads, statistics);

    // Tiles are aligned to packets of the whole image, so packets do not depend on the bounds.
    const PixelRect bounds = plan.pixel_bounds;
    const int left = bounds.left / side * side, top = bounds.top / side * side;
    const int right = std::min((bounds.right + side - 1) / side * side, width);
    const int bottom = std::min((bounds.bottom + side - 1) / side * side, height);
    const int columns = bounds.empty() ? 0 : (right - left + tile - 1) / tile;
    const int rows = bounds.empty() ? 0 : (bottom - top + tile - 1) / tile;

#pragma omp parallel num_threads(threads)
    {
        RayMarcher marcher(plan, buffer.depth != nullptr);
#pragma omp for schedule(static) nowait
        for (int row = 0; row < height; ++row) {
            const bool inside = !bounds.empty() && row >= top && row < bottom;
            clear(buffer, width, row, 0, inside ? left : width);
            if (inside)
                clear(buffer, width, row, right, width);
        }
#pragma omp for collapse(2) schedule(dynamic) nowait
        for (int j = 0; j < rows; ++j)
            for (int i = 0; i < columns; ++i) {
                if (interruption.check())
                    continue;
                for (int y = top + j * tile; y < std::min(top + (j + 1) * tile, bottom); y += side)
                    for (int x = left + i * tile; x < std::min(left + (i + 1) * tile, right);
                         x += side)
                        write(buffer, marcher.draw(x, y), width, x, y, std::min(side, width - x),
                              std::min(side, height - y));
            }
#pragma omp critical
        {
            statistics.nonfinite_count += marcher.nonfinite_pixels();
            for (std::size_t i = 0; i < statistics.hits.size(); ++i)
                statistics.hits[i] += marcher.hits()[i];
        }
    }
    return statistics;
}

} // namespace uzushio::raycast
