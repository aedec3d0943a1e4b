#pragma once

#include <cstdint>
#include <optional>

#include "staging/datamodel/array_layout.hpp"
#include "staging/datamodel/ghosts.hpp"

namespace uzushio::staging {

/// Place of one field's values on one block, in the segment of the block's rank.
struct StoredArray {
    std::uint32_t field = 0;  ///< index into StepInfo::fields
    Ghosts ghosts;            ///< stored around the owned box
    std::uint64_t offset = 0; ///< of the first stored value (with ghosts) in the segment
    ArrayLayout layout;
    std::optional<std::uint32_t> checksum; ///< CRC32C of all stored values, see checksum.hpp

    bool operator==(const StoredArray&) const = default;
};

} // namespace uzushio::staging
