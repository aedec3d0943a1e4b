#pragma once

#include <cstdint>
#include <optional>

#include "staging/datamodel/ghosts.hpp"
#include "staging/datamodel/layout.hpp"

namespace uzushio::staging {

/// Where the values of one field on one block lie: in the segment of memory (a slot, a file, a
/// buffer) that the block's rank has for this step.
struct StoredArray {
    std::uint32_t field = 0;  ///< index into StepInfo::fields
    Ghosts ghosts;            ///< layers around the owned box that are stored with it
    std::uint64_t offset = 0; ///< of the first stored value, ghosts included, in the rank's segment
    Layout layout;
    std::optional<std::uint32_t> checksum; ///< CRC32C of all stored values, see checksum.hpp

    bool operator==(const StoredArray&) const = default;
};

} // namespace uzushio::staging
