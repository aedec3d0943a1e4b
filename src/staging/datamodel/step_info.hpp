#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/attribute.hpp"
#include "staging/datamodel/block.hpp"
#include "staging/datamodel/coordset.hpp"
#include "staging/datamodel/field.hpp"
#include "staging/datamodel/topology.hpp"

namespace uzushio::staging {

/// All that is known of a step but its values: what there is, which rank holds it, and where.
struct StepInfo {
    std::int64_t index = 0; ///< the solver's number of the step
    double time = 0;
    std::vector<Attribute> attributes;
    std::vector<Coordset> coordsets;
    std::vector<Topology> topologies;
    std::vector<Field> fields;
    std::vector<Block> blocks;

    bool operator==(const StepInfo&) const = default;
};

/// Throw ModelError unless names and block ids are unique, indices lead somewhere, boxes are valid
/// and inside their topology, and arrays lie in memory without overlapping themselves. Everything
/// below expects a step that passes.
void validate(const StepInfo& step);

[[nodiscard]] std::optional<std::uint32_t> find_field(const StepInfo& step, std::string_view name);
[[nodiscard]] std::optional<std::uint32_t> find_topology(const StepInfo& step,
                                                         std::string_view name);

/// Box of global indices that an array holds, ghost layers included.
[[nodiscard]] Box stored_box(const StepInfo& step, const Block& block, const StoredArray& array);

/// Bytes from an array's first value to its last, both included.
[[nodiscard]] std::uint64_t stored_bytes(const StepInfo& step, const Block& block,
                                         const StoredArray& array);

/// Values of all stored arrays of one rank, in bytes without gaps.
[[nodiscard]] std::uint64_t value_bytes(const StepInfo& step, std::uint32_t rank);

/// An array's values, ghost layers included, in the segment of the block's rank. Throws ModelError
/// if they do not lie wholly inside it. The view lives as long as the segment.
[[nodiscard]] ConstArrayView view_of(const StepInfo& step, const Block& block,
                                     const StoredArray& array, std::span<const std::byte> segment);

/// The parts of a step that each rank described, as one. What several describe (coordsets,
/// topologies, fields) is matched by name and must be equal; attributes of the first part that has
/// them count. Throws ModelError if the parts do not fit.
[[nodiscard]] StepInfo merge(std::span<const StepInfo> parts);

} // namespace uzushio::staging
