#pragma once

#include "pipeline/field_view.hpp"

namespace uzushio::pipeline {

/// Interpolate values of cells to vertices of a structured mesh; exact for linear functions of the
/// position of the cells' centres, and of second order for others.
///
/// A vertex takes the two nearest cells along each axis; the end of the mesh is extrapolated.
/// `corners`: x of the vertices of `cells`, one more than cells along each axis; y and z follow
/// each x, and the vertices of a row are contiguous. `first`: index in `corners` of the first
/// vertex of `out`.
template <class T>
void interpolate_to_vertices(const FieldView<const T>& cells,
                             const FieldView<const double>& corners,
                             std::array<std::ptrdiff_t, 3> first, const FieldView<T>& out,
                             int threads);

} // namespace uzushio::pipeline
