#pragma once

#include <array>
#include <functional>
#include <vector>

#include "domain/index.hpp"

namespace uzushio::domain {

/// Positions of a zone's vertices: uniform, rectilinear or curvilinear. Cheap to copy where it
/// holds no arrays; a curvilinear zone may be a function, so that no rank stores all of it.
class Coordinates {
  public:
    using Function = std::function<Vector(const Index<3>&)>;

    /// Vertex (i, j, k) is at `origin + (i, j, k) * spacing`.
    static Coordinates uniform(const Vector& origin, const Vector& spacing);

    /// Vertex (i, j, k) is at (x[i], y[j], z[k]). Throws `std::invalid_argument` if an axis does
    /// not ascend.
    static Coordinates rectilinear(std::array<std::vector<double>, 3> axes);

    /// Vertex (i, j, k) is where the function says, for all vertices of the zone.
    static Coordinates curvilinear(Function vertex);

    /// From arrays of all vertices, i contiguous. Throws `std::invalid_argument` if their size is
    /// not the product of `cells[a] + 1`.
    static Coordinates curvilinear(const Index<3>& cells, std::array<std::vector<double>, 3> xyz);

    /// Position of a vertex.
    [[nodiscard]] Vector vertex(const Index<3>& index) const { return vertex_(index); }

    /// Mean of the eight vertices of a cell.
    [[nodiscard]] Vector centre(const Index<3>& cell) const;

    /// Whether the coordinates are defined for a zone of so many cells.
    [[nodiscard]] bool fits(const Index<3>& cells) const;

  private:
    Function vertex_;
    std::array<std::int64_t, 3> limits_{-1, -1, -1}; ///< vertices an axis; -1: unlimited
};

} // namespace uzushio::domain
