#pragma once

#include <cstdint>
#include <string>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// A structured index space that blocks cover in parts: the mesh of one zone of a multiblock grid,
/// or the only one (Conduit Blueprint's topology, type "structured").
struct Topology {
    std::string name;
    std::uint32_t coordset = 0; ///< index into StepInfo::coordsets
    std::uint8_t dimension = 3; ///< axes in use, counted from x; the others have a count of 1
    Box elements;               ///< all elements, whichever block holds them

    bool operator==(const Topology&) const = default;
};

/// The corners of a box of elements: one more along each axis in use.
[[nodiscard]] constexpr Box vertices_of(Box elements, std::uint8_t dimension = 3) {
    for (std::size_t axis = 3 - std::size_t{dimension}; axis < 3; ++axis)
        if (elements.count[axis] > 0)
            ++elements.count[axis];
    return elements;
}

/// The elements all of whose corners are in a box of vertices.
[[nodiscard]] constexpr Box elements_of(Box vertices, std::uint8_t dimension = 3) {
    for (std::size_t axis = 3 - std::size_t{dimension}; axis < 3; ++axis)
        if (vertices.count[axis] > 0)
            --vertices.count[axis];
    return vertices;
}

} // namespace uzushio::staging
