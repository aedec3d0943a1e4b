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

/// Table of a step: meshes, fields and blocks, with the rank and the place of each array. It holds
/// no values.
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

/// Throw ModelError unless names and block ids are unique, indices are in range, boxes are valid
/// and inside their topology, and arrays do not overlap themselves. The functions below require a
/// valid step.
void validate(const StepInfo& step);

[[nodiscard]] std::optional<std::uint32_t> find_field(const StepInfo& step, std::string_view name);
[[nodiscard]] std::optional<std::uint32_t> find_topology(const StepInfo& step,
                                                         std::string_view name);

/// Return the index of a field's array on a block.
[[nodiscard]] std::optional<std::uint32_t> find_array(const Block& block, std::uint32_t field);

/// Return the box of global indices of an array, with ghost layers.
[[nodiscard]] Box stored_box(const StepInfo& step, const Block& block, const StoredArray& array);

/// Return the bytes from an array's first value to its last, both included.
[[nodiscard]] std::uint64_t stored_bytes(const StepInfo& step, const Block& block,
                                         const StoredArray& array);

/// Return the bytes of all stored values of one rank, without gaps.
[[nodiscard]] std::uint64_t value_bytes(const StepInfo& step, std::uint32_t rank);

/// Return an array's values, with ghost layers, in the segment of the block's rank. Throws
/// ModelError if the array exceeds the segment. The view is valid as long as the segment.
[[nodiscard]] ConstArrayView view_of(const StepInfo& step, const Block& block,
                                     const StoredArray& array, std::span<const std::byte> segment);

/// Merge the parts of a step that the ranks described. Coordsets, topologies and fields are matched
/// by name and must be equal in all parts. Of attributes with equal names, the first counts. Throws
/// ModelError if the parts are inconsistent.
[[nodiscard]] StepInfo merge(std::span<const StepInfo> parts);

} // namespace uzushio::staging
