#pragma once

#include <cstdint>
#include <string>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// Structured index space that blocks cover: the mesh of a zone of a multiblock grid, or the only
/// mesh (Conduit Blueprint's topology, type "structured").
struct Topology {
    std::string name;
    std::uint32_t coordset = 0; ///< index into StepInfo::coordsets
    std::uint8_t dimension = 3; ///< axes in use, counted from x; the others have one index
    Box elements;               ///< of all blocks

    bool operator==(const Topology&) const = default;
};

/// Return the vertices of a box of elements: one more along each axis in use.
[[nodiscard]] constexpr Box vertices_of(Box elements, std::uint8_t dimension = 3) {
    for (std::size_t axis = 3 - std::size_t{dimension}; axis < 3; ++axis)
        if (elements.extent(axis) > 0)
            ++elements.upper[axis];
    return elements;
}

/// Return the elements whose vertices are all in a box of vertices.
[[nodiscard]] constexpr Box elements_of(Box vertices, std::uint8_t dimension = 3) {
    for (std::size_t axis = 3 - std::size_t{dimension}; axis < 3; ++axis)
        if (vertices.extent(axis) > 0)
            --vertices.upper[axis];
    return vertices;
}

} // namespace uzushio::staging
