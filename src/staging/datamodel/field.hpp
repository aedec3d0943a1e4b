#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "staging/datamodel/attribute.hpp"
#include "staging/datamodel/scalar_type.hpp"

namespace uzushio::staging {

/// Location of a field's values (Conduit Blueprint's association).
enum class Association : std::uint8_t { vertex = 1, element = 2 };

/// Named quantity on a topology. Its values are in the arrays of the blocks; a block may have none.
struct Field {
    std::string name;
    std::uint32_t topology = 0; ///< index into StepInfo::topologies
    Association association = Association::vertex;
    ScalarType type = ScalarType::float64;
    std::uint32_t components = 1;
    std::vector<Attribute> attributes;

    bool operator==(const Field&) const = default;
};

} // namespace uzushio::staging
