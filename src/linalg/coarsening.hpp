#pragma once

#include <array>
#include <memory>
#include <vector>

#include "linalg/equation.hpp"

namespace uzushio::linalg {

/// Axes along which pairs of cells are joined.
using Coarsened = std::array<bool, 3>;

/// Return the axes along which the next coarser level joins cells: those with the strongest fluxes,
/// and at least three cells. None: the level is the coarsest.
[[nodiscard]] Coarsened coarsened_axes(const std::array<Axis, 3>& axes);

/// Return an axis whose cells are pairs of the axis's; the last may be a single one.
[[nodiscard]] Axis coarse_axis(const Axis& axis);

/// Return the number of cells after `times` coarsenings.
[[nodiscard]] std::int64_t coarse_cells(std::int64_t cells, int times);

/// Return the equation of rectilinear cells with these axes: the same conditions and s, coefficient
/// 1, on `blocks`.
[[nodiscard]] Equation equation_on(const Equation& like, const std::array<Axis, 3>& axes,
                                   std::vector<domain::Block> blocks);

/// Return blocks on at most `ranks` ranks whose cuts are multiples of 2^times[a] along each axis,
/// with at least `least` cells of the coarsest level along each axis of a block.
[[nodiscard]] std::vector<domain::Block> aligned_blocks(const domain::Index<3>& cells,
                                                        const std::array<int, 3>& times, int ranks,
                                                        std::int64_t least);

/// Return the blocks of the next coarser level, whose cuts along joined axes are even.
[[nodiscard]] std::vector<domain::Block> coarse_blocks(const std::vector<domain::Block>& blocks,
                                                       const Coarsened& joined);

/// Return whether the cuts of blocks along joined axes are even.
[[nodiscard]] bool fits(const std::vector<domain::Block>& blocks, const domain::Index<3>& cells,
                        const Coarsened& joined);

} // namespace uzushio::linalg
