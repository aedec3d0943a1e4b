#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "domain/box.hpp"
#include "domain/mesh.hpp"

namespace uzushio::domain {

/// Return the zone of a mesh. Throws `MeshError` if the mesh is not one rectilinear zone.
[[nodiscard]] const Zone& rectilinear_zone(const Mesh& mesh);

/// Widths of the cells along an axis of a rectilinear zone.
struct CellWidths {
    std::vector<double> values;
    bool uniform = true; ///< equal to round-off; the values are then their mean
};
[[nodiscard]] CellWidths cell_widths(const Zone& zone, std::size_t axis);

/// Lengths along one axis of a rectilinear grid, with ghosts: those beyond a boundary are mirror
/// images, those of a periodic axis are of the cells at its other end. Face f is between cells f -
/// 1 and f.
class GridAxis {
  public:
    GridAxis(const std::vector<double>& widths, bool periodic, int ghosts);

    [[nodiscard]] std::int64_t cells() const { return cells_; }
    [[nodiscard]] bool periodic() const { return periodic_; }
    [[nodiscard]] double length() const { return length_; }
    /// Return whether a face is at a boundary.
    [[nodiscard]] bool is_boundary(std::int64_t face) const {
        return !periodic_ && (face == 0 || face == cells_);
    }

    /// Pointers that may be indexed by cells -ghosts … cells + ghosts - 1.
    [[nodiscard]] const double* width() const { return at(width_); }
    [[nodiscard]] const double* inverse_width() const { return at(inverse_width_); }
    /// Pointers that may be indexed by faces 1 - ghosts … cells + ghosts - 1. Distance of the
    /// centres beside a face; half of the share of the cell below and above in it.
    [[nodiscard]] const double* inverse_distance() const { return at(inverse_distance_); }
    [[nodiscard]] const double* share_below() const { return at(share_below_); }
    [[nodiscard]] const double* share_above() const { return at(share_above_); }

  private:
    [[nodiscard]] const double* at(const std::vector<double>& values) const {
        return values.data() + ghosts_;
    }
    std::int64_t cells_;
    bool periodic_;
    int ghosts_;
    double length_;
    std::vector<double> width_, inverse_width_, inverse_distance_, share_below_, share_above_;
};

/// Rectilinear grid of one zone: lengths along its axes, areas, and places at its boundaries. An
/// axis that the mesh does not use is periodic and has one cell of width 1.
class Grid {
  public:
    /// Throws `MeshError` if the mesh is not one rectilinear zone.
    Grid(const Mesh& mesh, int ghosts);

    [[nodiscard]] const GridAxis& operator[](std::size_t axis) const { return axes_[axis]; }

    /// Return the area of the sides of a cell normal to an axis.
    [[nodiscard]] double side_area(std::size_t normal, const Index<3>& cell) const;
    /// Return the area of a face of the grid.
    [[nodiscard]] double area(const Face& face) const;
    /// Return the width of the cells at a face of the grid.
    [[nodiscard]] double width_at(const Face& face) const {
        const GridAxis& axis = axes_[face.axis];
        return axis.width()[face.is_upper() ? axis.cells() - 1 : 0];
    }

    /// Return the cells of a box of cells that lie at a face of the grid; may be empty.
    [[nodiscard]] Box<3> cells_at(const Face& face, const Box<3>& cells) const;
    /// Return the sides of those cells that lie in that face.
    [[nodiscard]] Box<3> sides_at(const Face& face, const Box<3>& cells) const;
    /// Return the sides of cells, normal to an axis, that are not at a boundary.
    [[nodiscard]] Box<3> inner_sides(std::size_t axis, const Box<3>& sides) const;
    /// Return the cells of a box that are not beyond a boundary.
    [[nodiscard]] Box<3> inside(Box<3> cells) const;

  private:
    std::array<GridAxis, 3> axes_;
};

} // namespace uzushio::domain
