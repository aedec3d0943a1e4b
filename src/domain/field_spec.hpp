#pragma once

#include <string>
#include <vector>

#include "domain/index_map.hpp"

namespace uzushio::domain {

/// Where values lie: at cell centres, at the centres of cell sides, or at vertices.
enum class Centring { cell, face, vertex };

/// How a connection changes values: not at all (Cartesian components, scalars); a position of a
/// ghost is the donor's less the connection's translation; a flux through a face changes its sign
/// where the donor's axis is reversed.
enum class Values { plain, position, flux };

/// Description of a field.
struct FieldSpec {
    std::string name;
    int components = 1;
    int ghosts = 0; ///< layers at each side of a block
    Centring centring = Centring::cell;
    Values values = Values::plain;

    bool operator==(const FieldSpec&) const = default;
};

/// How the arrays of a block lie: one array, or for faces one for each axis of the mesh, of the
/// values on faces normal to that axis. Throws `std::invalid_argument` if the specification is not
/// usable.
[[nodiscard]] std::vector<Stagger> staggers(const FieldSpec& spec, int dimension);

} // namespace uzushio::domain
