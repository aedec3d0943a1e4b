#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "staging/datamodel/array_view.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging::queued {

/// Where each array of a rank's step goes in its segment.
struct Arrangement {
    StepInfo part; ///< with offsets and layouts of the segment; without index, time and attributes
    std::vector<ConstArrayView> values; ///< where they are now, in the table's order
    std::size_t bytes = 0;              ///< of the segment, in use
};

/// Arrays that lie in `in_place` already, the beginning of the segment that is to be filled, stay
/// where they are; the others follow them in the table's order without gaps, aligned to 64 bytes,
/// their axes and components nested as they were. Equal steps get equal tables. Throws StagingError
/// if the values do not have the shapes that the table says.
[[nodiscard]] Arrangement arrange(LocalStep step, std::uint32_t rank,
                                  std::span<const std::byte> in_place);

/// Bring the values to their places in `segment`, unless they are there. Returns the bytes that
/// were copied.
std::size_t fill(const Arrangement& arrangement, std::span<std::byte> segment);

/// A view's layout without its gaps: the same axes inside each other, strides as small as can be.
[[nodiscard]] Layout packed_layout(const ConstArrayView& view);

[[nodiscard]] constexpr std::size_t aligned(std::size_t offset) { return (offset + 63) / 64 * 64; }

} // namespace uzushio::staging::queued
