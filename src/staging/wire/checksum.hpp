#pragma once

#include <cstdint>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/run_cursor.hpp"

namespace uzushio::staging {

/// CRC32C of a view's values in the order of a stream, gaps left out.
[[nodiscard]] std::uint32_t checksum(const ConstArrayView& view, Order order);

/// The checksum that a StoredArray carries: of all its values in its layout's natural order.
[[nodiscard]] std::uint32_t checksum(const ConstArrayView& view);

} // namespace uzushio::staging
