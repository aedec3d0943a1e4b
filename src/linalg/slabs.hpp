#pragma once

#include <algorithm>
#include <cstdint>

#include "domain/box.hpp"

namespace uzushio::linalg {

/// Cut of the cells of a block into slabs of planes (rows, if there is one plane), one a thread.
/// Pairs of planes 2 n and 2 n + 1 stay together.
///
/// In a pass of several stages, stage n of a slab is `stages` - 1 - n planes below the last one: a
/// slab then needs values of the slab above it alone.
class Slabs {
  public:
    /// `cells`: of the last stage. Slabs have so many cells and planes that they are worth a
    /// thread.
    Slabs(const domain::Box<3>& cells, int threads, int stages = 1)
        : axis_(cells.extent(2) > 1 ? 2 : 1), lower_(cells.lower[axis_]),
          planes_(cells.extent(axis_)), stages_(stages),
          count_(static_cast<int>(std::clamp<std::int64_t>(
              std::min(planes_ / min_planes, cells.volume() / min_cells), 1, threads))) {}

    [[nodiscard]] int count() const { return count_; }
    /// Return the axis along which the cells are cut.
    [[nodiscard]] std::size_t axis() const { return axis_; }
    /// Return the part of a slab in a stage, whose cells are `box`.
    [[nodiscard]] domain::Box<3> part(domain::Box<3> box, int slab, int stage = 0) const {
        const domain::Box<3> all = box;
        if (slab > 0)
            box.lower[axis_] = std::clamp(cut(slab, stage), all.lower[axis_], all.upper[axis_]);
        if (slab + 1 < count_)
            box.upper[axis_] = std::clamp(cut(slab + 1, stage), all.lower[axis_], all.upper[axis_]);
        return box;
    }

  private:
    static constexpr std::int64_t min_planes = 8;
    static constexpr std::int64_t min_cells = 8192;

    [[nodiscard]] std::int64_t cut(int slab, int stage) const {
        // In the middle of the stages, so that slabs have the same number of cells.
        const std::int64_t middle = lower_ + slab * planes_ / count_ + (stages_ - 1) / 2;
        return middle + (middle & 1) - (stages_ - 1 - stage);
    }

    std::size_t axis_;
    std::int64_t lower_, planes_;
    int stages_, count_;
};

} // namespace uzushio::linalg
