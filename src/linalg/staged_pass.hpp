#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "domain/box.hpp"
#include "linalg/slabs.hpp"
#include "linalg/threads.hpp"

namespace uzushio::linalg {

/// Traversal of the rows of a block in which a row is visited by several stages while it is in
/// cache. A stage reads rows beside its own. Threads have a slab of planes each.
class StagedPass {
  public:
    /// `boxes`: the cells of each stage, which contain those of the next one. `rows`: of a tile, an
    /// even number.
    StagedPass(std::vector<domain::Box<3>> boxes, std::int64_t rows, int threads)
        : boxes_(std::move(boxes)), slabs_(boxes_.back(), threads, static_cast<int>(boxes_.size())),
          axis_(slabs_.axis()),
          // Cuts of tiles are between pairs.
          first_row_(boxes_.front().lower[1] - (boxes_.front().lower[1] & 1)),
          rows_(axis_ == 2 ? rows : boxes_.front().upper[1] - first_row_), threads_(threads),
          tiles_(slabs_.count()) {}

    /// Call `visit(thread, stage, cells, j, k)` for the rows of each stage: `cells` have the row's
    /// extent along i. Rows of a pair are visited in the order of j, then k, by one thread.
    template <class Visit> void run(Visit&& visit) {
        on_threads(threads_, slabs_.count(), [&](int thread) {
            const std::int64_t all = boxes_.front().upper[1] - first_row_;
            for (int tile = 0; tile * rows_ < all; ++tile)
                visit_tile(thread, tile, visit);
        });
    }

  private:
    [[nodiscard]] domain::Box<3> part(int slab, std::int64_t stage) const {
        return slabs_.part(boxes_[static_cast<std::size_t>(stage)], slab, static_cast<int>(stage));
    }
    template <class Visit> void visit_tile(int thread, int tile, Visit& visit) {
        const auto stages = std::ssize(boxes_);
        const std::int64_t begin = part(thread, 0).lower[axis_];
        std::int64_t end = begin;
        for (std::int64_t stage = 0; stage < stages; ++stage)
            end = std::max(end, part(thread, stage).upper[axis_] + stage);
        // Planes of the slab above are read and changed when it has completed its first ones,
        // which no thread needs in an earlier stage any more.
        const bool waits = thread + 1 < slabs_.count() && stages > 1;
        const std::int64_t begin_above = waits ? part(thread + 1, 0).lower[axis_] : end;
        for (std::int64_t step = begin; step < end; ++step) {
            if (step == begin_above)
                tiles_.wait_for(thread + 1, tile + 1);
            // Stage n is n planes behind and, in a tile, 2 n rows.
            for (std::int64_t stage = 0; stage < stages; ++stage)
                visit_plane(thread, tile, stage, step - stage, visit);
            if (step == begin + 2 * (stages - 1))
                tiles_.complete(thread, tile + 1);
        }
        tiles_.complete(thread, tile + 1);
    }
    /// Visit the rows of a plane, or one row if there is one plane.
    template <class Visit>
    void visit_plane(int thread, int tile, std::int64_t stage, std::int64_t at, Visit& visit) {
        domain::Box<3> box = part(thread, stage);
        if (at < box.lower[axis_] || at >= box.upper[axis_])
            return;
        box.lower[axis_] = at;
        box.upper[axis_] = at + 1;
        const std::int64_t first = first_row_ + tile * rows_;
        if (tile > 0)
            box.lower[1] = std::max(box.lower[1], first - 2 * stage);
        if (first + rows_ < boxes_.front().upper[1])
            box.upper[1] = std::min(box.upper[1], first + rows_ - 2 * stage);
        for (std::int64_t k = box.lower[2]; k < box.upper[2]; ++k)
            for (std::int64_t j = box.lower[1]; j < box.upper[1]; ++j)
                visit(thread, stage, box, j, k);
    }

    std::vector<domain::Box<3>> boxes_;
    Slabs slabs_;
    std::size_t axis_;
    std::int64_t first_row_, rows_;
    int threads_;
    ThreadProgress tiles_; ///< whose first planes are complete in a slab
};

} // namespace uzushio::linalg
