#include "staging/queue/buffer_pool.hpp"

#include <utility>

namespace uzushio::staging {

std::span<std::byte> BufferPool::take(std::size_t bytes) {
    auto best = free_.end();
    for (auto memory = free_.begin(); memory != free_.end(); ++memory)
        if (memory->bytes() >= bytes && memory->bytes() / 2 <= bytes &&
            (best == free_.end() || memory->bytes() < best->bytes()))
            best = memory;
    if (best != free_.end()) {
        used_.push_back(std::move(*best));
        *best = std::move(free_.back());
        free_.pop_back();
    } else {
        used_.emplace_back(bytes);
    }
    return std::span<std::byte>(used_.back().data(), used_.back().bytes()).first(bytes);
}

void BufferPool::end_step() { free_ = std::exchange(used_, {}); }

} // namespace uzushio::staging
