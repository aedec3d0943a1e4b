#include "domain/grid.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "domain/mesh_error.hpp"

namespace uzushio::domain {

namespace {

GridAxis axis_of(const Mesh& mesh, std::size_t axis, int ghosts) {
    if (axis >= static_cast<std::size_t>(mesh.dimension()))
        return {{1.0}, true, ghosts};
    const Zone& zone = rectilinear_zone(mesh);
    const bool periodic =
        std::any_of(zone.connections.begin(), zone.connections.end(),
                    [=](const Connection& c) { return c.patch.face.axis == axis; });
    return {cell_widths(zone, axis).values, periodic, ghosts};
}

/// Return the indices of a box from `lower` to `upper` along an axis.
Box<3> limited(Box<3> box, std::size_t axis, std::int64_t lower, std::int64_t upper) {
    box.lower[axis] = std::max(box.lower[axis], lower);
    box.upper[axis] = std::min(box.upper[axis], upper);
    return box;
}

} // namespace

const Zone& rectilinear_zone(const Mesh& mesh) {
    if (mesh.zones().size() != 1 || !mesh.zone(0).coordinates.is_rectilinear())
        throw MeshError("the mesh is not one uniform or rectilinear zone");
    return mesh.zone(0);
}

CellWidths cell_widths(const Zone& zone, std::size_t axis) {
    CellWidths widths;
    Index<3> at{};
    double before = zone.coordinates.vertex(at)[axis];
    const double first = before;
    for (at[axis] = 1; at[axis] <= zone.cells[axis]; ++at[axis]) {
        const double after = zone.coordinates.vertex(at)[axis];
        widths.values.push_back(after - before);
        before = after;
    }
    const double mean = (before - first) / static_cast<double>(zone.cells[axis]);
    widths.uniform = std::all_of(widths.values.begin(), widths.values.end(), [&](double width) {
        return std::abs(width - mean) <= 1e-10 * mean; // vertices are rounded
    });
    if (widths.uniform)
        std::fill(widths.values.begin(), widths.values.end(), mean);
    return widths;
}

GridAxis::GridAxis(const std::vector<double>& widths, bool periodic, int ghosts)
    : cells_(static_cast<std::int64_t>(widths.size())), periodic_(periodic), ghosts_(ghosts),
      length_(std::accumulate(widths.begin(), widths.end(), 0.0)) {
    const auto width = [&](std::int64_t cell) {
        if (periodic)
            cell = (cell % cells_ + cells_) % cells_;
        else if (cell < 0)
            cell = std::min(-cell - 1, cells_ - 1);
        else if (cell >= cells_)
            cell = std::max<std::int64_t>(2 * cells_ - cell - 1, 0);
        return widths[static_cast<std::size_t>(cell)];
    };
    for (std::int64_t c = -ghosts; c < cells_ + ghosts; ++c) {
        const double above = width(c);
        const double below = width(c - 1);
        width_.push_back(above);
        inverse_width_.push_back(1 / above);
        inverse_distance_.push_back(2 / (below + above));
        share_below_.push_back(below / (below + above));
        share_above_.push_back(above / (below + above));
    }
}

Grid::Grid(const Mesh& mesh, int ghosts)
    : axes_{axis_of(mesh, 0, ghosts), axis_of(mesh, 1, ghosts), axis_of(mesh, 2, ghosts)} {}

double Grid::side_area(std::size_t normal, const Index<3>& cell) const {
    double area = 1;
    for (std::size_t a = 0; a < 3; ++a)
        area *= a == normal ? 1 : axes_[a].width()[cell[a]];
    return area;
}

double Grid::area(const Face& face) const {
    double area = 1;
    for (std::size_t a = 0; a < 3; ++a)
        area *= a == face.axis ? 1 : axes_[a].length();
    return area;
}

Box<3> Grid::cells_at(const Face& face, const Box<3>& cells) const {
    const std::int64_t n = axes_[face.axis].cells();
    return face.is_upper() ? limited(cells, face.axis, n - 1, n) : limited(cells, face.axis, 0, 1);
}

Box<3> Grid::sides_at(const Face& face, const Box<3>& cells) const {
    Index<3> shift{};
    shift[face.axis] = face.is_upper() ? 1 : 0;
    return cells_at(face, cells).shifted(shift);
}

Box<3> Grid::inner_sides(std::size_t axis, const Box<3>& sides) const {
    return axes_[axis].periodic() ? sides : limited(sides, axis, 1, axes_[axis].cells());
}

Box<3> Grid::inside(Box<3> cells) const {
    for (std::size_t a = 0; a < 3; ++a)
        if (!axes_[a].periodic())
            cells = limited(cells, a, 0, axes_[a].cells());
    return cells;
}

} // namespace uzushio::domain
