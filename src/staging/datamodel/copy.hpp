#pragma once

#include "staging/datamodel/array_view.hpp"

namespace uzushio::staging {

/// Copy all values of one view to another of the same shape, with any strides, in one pass. The
/// views must not overlap.
///
/// Axes that are contiguous in both are merged: equal layouts need one memcpy. Select parts with
/// `sub` and `select_components`.
void copy(const ConstArrayView& from, const ArrayView& to);

} // namespace uzushio::staging
