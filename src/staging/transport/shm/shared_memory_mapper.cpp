#include "staging/transport/shm/shared_memory_mapper.hpp"

#include <algorithm>
#include <utility>

#include "staging/staging_error.hpp"
#include "staging/transport/shm/node_name.hpp"

namespace uzushio::staging::shm {

SharedMemoryMapper::SharedMemoryMapper() : node_(node_name()) {
    if (node_.empty())
        node_ = "unknown"; // no writer has this name
}

std::span<const std::byte> SharedMemoryMapper::map(const SegmentPlace& place) {
    const auto memory = map_.map(place);
    if (!memory.empty())
        mapped_.try_emplace(place.token, place);
    return memory;
}

void SharedMemoryMapper::end() {
    const auto seen = std::exchange(mapped_, {});
    const bool whole = std::all_of(seen.begin(), seen.end(),
                                   [&](const auto& item) { return map_.intact(item.second); });
    map_.end_step();
    if (!whole)
        throw PeerGone("The writer replaced a step before this reader released it, because it "
                       "considered this reader gone: discard the values read from the step, and "
                       "attach again.");
}

} // namespace uzushio::staging::shm
