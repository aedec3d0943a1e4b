#pragma once

#include <cstdint>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/run_cursor.hpp"

namespace uzushio::staging {

/// Return the CRC32C of a view's values in stream order, without gaps.
[[nodiscard]] std::uint32_t checksum(const ConstArrayView& view, ComponentOrder order);

/// Return the checksum for StoredArray: of all values in the layout's natural order.
[[nodiscard]] std::uint32_t checksum(const ConstArrayView& view);

} // namespace uzushio::staging
