#include "staging/datamodel/structure.hpp"

#include <algorithm>

namespace uzushio::staging {
namespace {

bool same_array(const StoredArray& a, const StoredArray& b) {
    return a.field == b.field && a.ghosts == b.ghosts;
}

bool same_block(const Block& a, const Block& b) {
    return a.rank == b.rank && a.topology == b.topology && a.elements == b.elements &&
           a.vertices == b.vertices && std::ranges::equal(a.arrays, b.arrays, same_array);
}

bool same_field(const Field& a, const Field& b) {
    return a.name == b.name && a.topology == b.topology && a.association == b.association;
}

} // namespace

bool same_structure(const StepInfo& a, const StepInfo& b) {
    return std::ranges::equal(a.fields, b.fields, same_field) &&
           std::ranges::equal(a.blocks, b.blocks, same_block);
}

} // namespace uzushio::staging
