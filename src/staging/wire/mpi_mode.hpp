#pragma once

#include <cstdint>

namespace uzushio::staging {

/// Data transfer of the engine `mpi` (see docs/theory/staging.md).
enum class MpiMode : std::uint8_t {
    two_sided, ///< writers send, readers receive
    push,      ///< writers put into the readers' memory
    pull,      ///< readers get from the writers' memory
};

} // namespace uzushio::staging
