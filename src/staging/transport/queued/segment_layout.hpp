#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "staging/datamodel/array_view.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging::queued {

/// Position of each array of a rank's step in its segment.
struct SegmentLayout {
    StepInfo part; ///< with offsets and layouts of the segment; without index, time and attributes
    std::vector<ConstArrayView> values; ///< their current memory, in the table's order
    std::size_t bytes = 0;              ///< used bytes of the segment
};

/// Lay out a step in a segment. Arrays that are already in `in_place`, the beginning of that
/// segment, keep their position. The others follow in the table's order without gaps, aligned to 64
/// bytes, with the same nesting of axes and components. Equal steps get equal tables. Throws
/// StagingError if the values do not have the shapes of the table.
[[nodiscard]] SegmentLayout lay_out(LocalStep step, std::uint32_t rank,
                                    std::span<const std::byte> in_place);

/// Copy the values to their positions in `segment`, unless they are there. Return the number of
/// copied bytes.
std::size_t fill(const SegmentLayout& layout, std::span<std::byte> segment);

/// Return a view's layout without gaps: the same nesting of axes, minimum strides.
[[nodiscard]] ArrayLayout packed_layout(const ConstArrayView& view);

[[nodiscard]] constexpr std::size_t aligned(std::size_t offset) { return (offset + 63) / 64 * 64; }

} // namespace uzushio::staging::queued
