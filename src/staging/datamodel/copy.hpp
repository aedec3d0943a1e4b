#pragma once

#include "staging/datamodel/array_view.hpp"

namespace uzushio::staging {

/// Copy all values of one view to another of the same shape, whatever the strides of either: a
/// block's owned part without its ghosts into a corner of a larger array, say, in one pass.
///
/// Axes that continue each other in both are merged, so that equal layouts are one memcpy. The two
/// must not overlap. Sub-boxes are chosen with `sub`, components with `some`.
void copy(const ConstArrayView& from, const ArrayView& to);

} // namespace uzushio::staging
