#include "staging/transport/queued/segment_pool.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace uzushio::staging::queued {

/// Free segments. Shared with segments in use, which any thread may return.
struct SegmentPool::FreeList {
    std::mutex mutex;
    std::vector<std::unique_ptr<Segment>>
        free; ///< the last used one is last, because it may be in the cache
    std::size_t count = 0;
};

SegmentPool::SegmentPool(MakeSegment make, std::size_t max_segments)
    : make_(std::move(make)), max_segments_(max_segments),
      free_list_(std::make_shared<FreeList>()) {}

std::shared_ptr<Segment> SegmentPool::acquire(std::size_t bytes) {
    std::vector<std::unique_ptr<Segment>> surplus; // unmapped outside the lock
    {
        const std::lock_guard lock(free_list_->mutex);
        auto& free = free_list_->free;
        const auto fits = std::find_if(free.rbegin(), free.rend(), [&](const auto& segment) {
            return segment->bytes().size() >= bytes;
        });
        std::unique_ptr<Segment> reused;
        if (fits != free.rend()) {
            reused = std::move(*fits);
            free.erase(std::next(fits).base());
        }
        // Steps have grown, or readers held more steps than the queue's depth.
        while (!free.empty() && (!reused || free_list_->count > max_segments_)) {
            surplus.push_back(std::move(free.front()));
            free.erase(free.begin());
            --free_list_->count;
        }
        if (reused)
            return share(std::move(reused));
    }
    surplus.clear();
    if (bytes > standard_bytes_)
        standard_bytes_ = standard_bytes_ == 0
                              ? bytes
                              : bytes + bytes / 8; // a step that grew once may grow again
    auto made = make_(bytes > standard_bytes_ / 2 ? standard_bytes_ : bytes);
    const std::lock_guard lock(free_list_->mutex);
    free_list_->free.reserve(++free_list_->count); // so that returning a segment cannot fail
    return share(std::move(made));
}

std::shared_ptr<Segment> SegmentPool::share(std::unique_ptr<Segment> segment) {
    segment->renew();
    const auto return_segment = [free_list = std::weak_ptr(free_list_)](Segment* raw) {
        std::unique_ptr<Segment> own(raw);
        if (const auto there = free_list.lock()) {
            const std::lock_guard lock(there->mutex);
            there->free.push_back(std::move(own));
        }
    };
    return {segment.release(), return_segment};
}

void SegmentPool::clear() {
    std::vector<std::unique_ptr<Segment>> surplus; // unmapped outside the lock
    const std::lock_guard lock(free_list_->mutex);
    free_list_->count -= free_list_->free.size();
    surplus.swap(free_list_->free);
    free_list_->free.reserve(free_list_->count);
}

std::size_t SegmentPool::count() const {
    const std::lock_guard lock(free_list_->mutex);
    return free_list_->count;
}

} // namespace uzushio::staging::queued
