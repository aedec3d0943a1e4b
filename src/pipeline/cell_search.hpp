#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "pipeline/field_view.hpp"

namespace uzushio::pipeline {

/// Cell of a structured mesh around a position; indices are in the order z, y, x.
struct Cell {
    std::array<std::ptrdiff_t, 3> index{-1, -1, -1}; ///< -1 if no cell contains the position
    std::array<double, 3> share{};                   ///< place in the cell, 0 to 1 along each axis
};

/// Find the cells around positions (x, y, z) in a curvilinear mesh with trilinear cells.
///
/// `corners`: x of the vertices; y and z follow each x, and the vertices of a row are contiguous.
/// `first`, `cells`: range of the cells that count. The first of several cells is taken. Positions
/// up to a millionth of a cell outside count as inside.
void find_cells(const FieldView<const double>& corners, std::array<std::ptrdiff_t, 3> first,
                std::array<std::ptrdiff_t, 3> cells,
                std::span<const std::array<double, 3>> positions, std::span<Cell> out, int threads);

} // namespace uzushio::pipeline
