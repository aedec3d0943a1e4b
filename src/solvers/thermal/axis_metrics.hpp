#pragma once

#include <array>
#include <vector>

#include "linalg/equation.hpp"

namespace uzushio::thermal {

/// Lengths along one axis of a staggered grid, with ghosts: those beyond a boundary are mirror
/// images, those of a periodic axis are of the cells at its other end. Face f is between cells f -
/// 1 and f.
class AxisMetrics {
  public:
    AxisMetrics(const linalg::Axis& axis, int ghosts);

    /// Pointers that may be indexed by cells -ghosts … cells + ghosts - 1.
    [[nodiscard]] const double* width() const { return at(width_); }
    [[nodiscard]] const double* inverse_width() const { return at(inverse_width_); }
    /// Pointers that may be indexed by faces 1 - ghosts … cells + ghosts - 1. Distance of the
    /// centres beside a face; half of the share of the cell below and above in it.
    [[nodiscard]] const double* inverse_distance() const { return at(inverse_distance_); }
    [[nodiscard]] const double* share_below() const { return at(share_below_); }
    [[nodiscard]] const double* share_above() const { return at(share_above_); }

    [[nodiscard]] std::int64_t cells() const { return cells_; }

  private:
    [[nodiscard]] const double* at(const std::vector<double>& values) const {
        return values.data() + ghosts_;
    }
    std::int64_t cells_;
    int ghosts_;
    std::vector<double> width_, inverse_width_, inverse_distance_, share_below_, share_above_;
};

/// Return the lengths along all axes.
[[nodiscard]] inline std::array<AxisMetrics, 3> metrics_of(const std::array<linalg::Axis, 3>& axes,
                                                           int ghosts) {
    return {AxisMetrics(axes[0], ghosts), AxisMetrics(axes[1], ghosts),
            AxisMetrics(axes[2], ghosts)};
}

/// Return the area of the sides of a cell normal to an axis.
[[nodiscard]] inline double side_area(const std::array<AxisMetrics, 3>& metrics, std::size_t normal,
                                      const domain::Index<3>& cell) {
    double area = 1;
    for (std::size_t a = 0; a < 3; ++a)
        area *= a == normal ? 1 : metrics[a].width()[cell[a]];
    return area;
}

} // namespace uzushio::thermal
