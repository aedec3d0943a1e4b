#include "staging/transport/shm/mapper.hpp"

#include <algorithm>
#include <utility>

#include "staging/staging_error.hpp"
#include "staging/transport/shm/node_name.hpp"

namespace uzushio::staging::shm {

Mapper::Mapper() : node_(node_name()) {
    if (node_.empty())
        node_ = "unknown"; // no writer is there
}

std::span<const std::byte> Mapper::map(const SegmentPlace& place) {
    const auto memory = map_.map(place);
    if (!memory.empty())
        seen_.try_emplace(place.token, place);
    return memory;
}

void Mapper::end() {
    const auto seen = std::exchange(seen_, {});
    const bool whole = std::all_of(seen.begin(), seen.end(),
                                   [&](const auto& item) { return map_.intact(item.second); });
    map_.turn();
    if (!whole)
        throw PeerGone("The writer took a step back before this reader was done with it, because "
                       "it took the reader for gone: do not use what was read of the step, and "
                       "attach again.");
}

} // namespace uzushio::staging::shm
