#pragma once

#include "domain/box.hpp"

namespace uzushio::domain {

/// Part of a zone that one rank holds.
struct Block {
    int id = 0;   ///< index in the decomposition's list, the same on all ranks
    int zone = 0; ///< number of its zone in the mesh
    int rank = 0;
    Box<3> cells; ///< in the zone's indices
};

} // namespace uzushio::domain
