#pragma once

#include <cstdint>
#include <span>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/run_cursor.hpp"
#include "staging/wire/crc32c.hpp"

namespace uzushio::staging {

/// Return the CRC32C of the next bytes of a cursor, which must be left. The cursor is a copy.
template <class Byte>
[[nodiscard]] std::uint32_t sum_runs(RunCursor<Byte> cursor, std::int64_t bytes) {
    std::uint32_t sum = 0;
    while (bytes > 0) {
        const std::span<Byte> run = cursor.next(bytes);
        sum = crc32c(run, sum);
        bytes -= std::ssize(run);
    }
    return sum;
}

/// Return the CRC32C of a view's values in stream order, without gaps.
[[nodiscard]] std::uint32_t checksum(const ConstArrayView& view, ComponentOrder order);

/// Return the checksum for StoredArray: of all values in the layout's natural order.
[[nodiscard]] std::uint32_t checksum(const ConstArrayView& view);

} // namespace uzushio::staging
