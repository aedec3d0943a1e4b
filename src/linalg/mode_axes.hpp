#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "linalg/equation.hpp"

namespace uzushio::linalg {

/// Axes of the mesh in the order of a solver by modes: two that are transformed, and that of the
/// tridiagonal systems. Boxes here have their axes in this order.
using AxisOrder = std::array<std::size_t, 3>;

/// Return why an equation with these axes cannot be solved by transforms; empty if it can. At most
/// one stretched axis may be periodic.
[[nodiscard]] std::string why_no_modes(const std::array<Axis, 3>& axes);

/// Return whether transforms are faster than iterations: there is no long stretched axis that a
/// matrix transforms.
[[nodiscard]] bool are_modes_fast(const std::array<Axis, 3>& axes);

/// Return the axis of the tridiagonal systems: a periodic stretched one, or else the stretched one
/// with the most cells, or else k. In two dimensions k, whose systems are trivial, is faster than a
/// stretched axis for which a matrix is small, because transforms are of 16 columns at a time.
[[nodiscard]] std::size_t tridiagonal_axis(const std::array<Axis, 3>& axes);

/// Return the rows and planes in which a solver works: those of a region, or of the mesh (null).
[[nodiscard]] domain::Box<3> region_in(const domain::Box<3>* region,
                                       const std::array<Axis, 3>& axes, const AxisOrder& order);

/// Return the planes of a region, with all rows.
[[nodiscard]] domain::Box<3> planes_of(domain::Box<3> region, const std::array<Axis, 3>& axes,
                                       const AxisOrder& order);

/// Return the numbers of parts into which ranks cut rows and planes of a box.
[[nodiscard]] std::array<int, 2> cuts(const domain::Box<3>& box, int ranks);

} // namespace uzushio::linalg
