#pragma once

#include <string>
#include <vector>

#include "domain/index_map.hpp"

namespace uzushio::domain {

/// Location of values: cell centres, centres of cell sides, or vertices.
enum class Centring { cell, face, vertex };

/// Transformation of values by a connection. `plain`: none (Cartesian components, scalars).
/// `position`: the connection's translation is subtracted. `flux`: a flux through a face changes
/// its sign where the donor's axis is reversed.
enum class Values { plain, position, flux };

/// Description of a field.
struct FieldSpec {
    std::string name;
    int components = 1;
    int ghosts = 0; ///< layers on each side of a block
    Centring centring = Centring::cell;
    Values values = Values::plain;

    bool operator==(const FieldSpec&) const = default;
};

/// Return the stagger of each array of a block: one array, or for faces one for each axis of the
/// mesh, with the values on faces normal to that axis. Throws `std::invalid_argument` if the
/// specification is invalid.
[[nodiscard]] std::vector<Stagger> staggers(const FieldSpec& spec, int dimension);

} // namespace uzushio::domain
