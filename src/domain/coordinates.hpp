#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "domain/index.hpp"

namespace uzushio::domain {

/// Positions of a zone's vertices: uniform, rectilinear or curvilinear. Curvilinear coordinates may
/// be a function, so that no rank stores all of them; copies are then cheap.
class Coordinates {
  public:
    using Function = std::function<Vector(const Index<3>&)>;

    /// Vertex (i, j, k) is at `origin + (i, j, k) * spacing`.
    static Coordinates uniform(const Vector& origin, const Vector& spacing);

    /// Vertex (i, j, k) is at (x[i], y[j], z[k]). Throws `std::invalid_argument` if an axis does
    /// not ascend.
    static Coordinates rectilinear(std::array<std::vector<double>, 3> axes);

    /// Vertex (i, j, k) is at `vertex({i, j, k})`.
    static Coordinates curvilinear(Function vertex);

    /// As above, for a zone with `cells` cells. `bytes` are those of the values that each rank has.
    static Coordinates curvilinear(const Index<3>& cells, Function vertex, std::int64_t bytes);

    /// Coordinates from arrays of all vertices, i contiguous. Throws `std::invalid_argument` if
    /// their size is not the product of `cells[a] + 1`.
    static Coordinates curvilinear(const Index<3>& cells, std::array<std::vector<double>, 3> xyz);

    /// Return the position of a vertex.
    [[nodiscard]] Vector vertex(const Index<3>& index) const { return vertex_(index); }

    /// Return the mean of the eight vertices of a cell.
    [[nodiscard]] Vector centre(const Index<3>& cell) const;

    /// Return whether the coordinates are defined for a zone with `cells` cells.
    [[nodiscard]] bool fits(const Index<3>& cells) const;

    /// Return whether x depends on i only, y on j and z on k: uniform or rectilinear.
    [[nodiscard]] bool is_rectilinear() const { return rectilinear_; }

    /// Return the bytes of the arrays, which each rank has of all vertices; copies share them.
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  private:
    Function vertex_;
    std::int64_t bytes_ = 0;
    bool rectilinear_ = false;
    std::array<std::int64_t, 3> limits_{-1, -1, -1}; ///< vertices per axis; -1: unlimited
};

} // namespace uzushio::domain
