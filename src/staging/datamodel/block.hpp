#pragma once

#include <cstdint>
#include <vector>

#include "staging/datamodel/box.hpp"
#include "staging/datamodel/field.hpp"
#include "staging/datamodel/stored_array.hpp"
#include "staging/datamodel/topology.hpp"

namespace uzushio::staging {

/// Part of a topology that one rank holds. A rank holds any number of blocks.
///
/// The owned boxes are in the topology's global indices. Codes that store values in cells share the
/// vertices between neighbours (`with_elements`); codes that divide the points among the ranks
/// share none (`with_vertices`). A reader takes a shared vertex from one block only.
struct Block {
    std::uint64_t id = 0; ///< the solver's number of the block, unique in the step
    std::uint32_t rank = 0;
    std::uint32_t topology = 0; ///< index into StepInfo::topologies
    Box elements;               ///< owned, without ghost layers
    Box vertices;
    std::vector<StoredArray> arrays; ///< at most one for each field

    [[nodiscard]] const Box& owned(Association association) const {
        return association == Association::vertex ? vertices : elements;
    }

    [[nodiscard]] static Block with_elements(const Box& elements, std::uint8_t dimension = 3) {
        Block block;
        block.elements = elements;
        block.vertices = vertices_of(elements, dimension);
        return block;
    }
    [[nodiscard]] static Block with_vertices(const Box& vertices, std::uint8_t dimension = 3) {
        Block block;
        block.elements = elements_of(vertices, dimension);
        block.vertices = vertices;
        return block;
    }
    bool operator==(const Block&) const = default;
};

} // namespace uzushio::staging
