#include "staging/transport/queued/segment_pool.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace uzushio::staging::queued {

/// What segments on their way back find, also on other threads.
struct SegmentPool::Shelf {
    std::mutex mutex;
    std::vector<std::unique_ptr<Segment>> free; ///< the last used one last: it may be in the cache
    std::size_t alive = 0;
};

SegmentPool::SegmentPool(MakeSegment make, std::size_t most)
    : make_(std::move(make)), most_(most), shelf_(std::make_shared<Shelf>()) {}

std::shared_ptr<Segment> SegmentPool::take(std::size_t bytes) {
    std::vector<std::unique_ptr<Segment>> surplus; // unmapped outside the lock
    {
        const std::lock_guard lock(shelf_->mutex);
        auto& free = shelf_->free;
        const auto fits = std::find_if(free.rbegin(), free.rend(), [&](const auto& segment) {
            return segment->bytes().size() >= bytes;
        });
        std::unique_ptr<Segment> found;
        if (fits != free.rend()) {
            found = std::move(*fits);
            free.erase(std::next(fits).base());
        }
        // Steps have grown, or were in use for longer than the queue is deep.
        while (!free.empty() && (!found || shelf_->alive > most_)) {
            surplus.push_back(std::move(free.front()));
            free.erase(free.begin());
            --shelf_->alive;
        }
        if (found)
            return hand_out(std::move(found));
    }
    surplus.clear();
    if (bytes > usual_)
        usual_ = usual_ == 0 ? bytes : bytes + bytes / 8; // what grew once may grow again
    auto made = make_(bytes > usual_ / 2 ? usual_ : bytes);
    const std::lock_guard lock(shelf_->mutex);
    shelf_->free.reserve(++shelf_->alive); // so that coming back cannot fail
    return hand_out(std::move(made));
}

std::shared_ptr<Segment> SegmentPool::hand_out(std::unique_ptr<Segment> segment) {
    segment->renew();
    const auto come_back = [shelf = std::weak_ptr(shelf_)](Segment* raw) {
        std::unique_ptr<Segment> own(raw);
        if (const auto there = shelf.lock()) {
            const std::lock_guard lock(there->mutex);
            there->free.push_back(std::move(own));
        }
    };
    return {segment.release(), come_back};
}

void SegmentPool::clear() {
    std::vector<std::unique_ptr<Segment>> surplus; // unmapped outside the lock
    const std::lock_guard lock(shelf_->mutex);
    shelf_->alive -= shelf_->free.size();
    surplus.swap(shelf_->free);
    shelf_->free.reserve(shelf_->alive);
}

std::size_t SegmentPool::alive() const {
    const std::lock_guard lock(shelf_->mutex);
    return shelf_->alive;
}

} // namespace uzushio::staging::queued
