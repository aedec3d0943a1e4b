#pragma once

#include <span>
#include <vector>

#include "solvers/channel/tridiagonal.hpp"

namespace uzushio::channel {

/// Staggered grid between the walls: u, v, p at cell centres, w at faces. Index k of w is the upper
/// face of cell k; the last one is the upper wall.
class WallGrid {
  public:
    /// `faces` increase from wall to wall.
    explicit WallGrid(std::span<const double> faces);

    [[nodiscard]] int cells() const { return static_cast<int>(height_.size()); }
    /// Return the height of cell k.
    [[nodiscard]] double height(int k) const { return height_[static_cast<std::size_t>(k)]; }
    /// Return the distance between the centres of cells k and k + 1. For k = -1 and k = cells() -
    /// 1: the distance of the nearest centre from the wall.
    [[nodiscard]] double distance(int k) const {
        return distance_[static_cast<std::size_t>(k + 1)];
    }
    [[nodiscard]] const std::vector<double>& centres() const { return centres_; }
    [[nodiscard]] const std::vector<double>& faces() const { return faces_; }

    /// Return the second difference at centres of a profile that is zero on the walls.
    [[nodiscard]] const Rows& at_centres() const { return at_centres_; }
    /// Return the second difference at upper faces; the row of the upper wall is zero.
    [[nodiscard]] const Rows& at_faces() const { return at_faces_; }
    /// Return the divergence of the gradient at centres, with no flux through the walls; weight -1.
    [[nodiscard]] const Rows& pressure() const { return pressure_; }

  private:
    std::vector<double> faces_, centres_, height_, distance_;
    Rows at_centres_, at_faces_, pressure_;
};

/// Compute the rows of 1 + a k² - a D, the implicit part of Crank–Nicolson, for second difference
/// `d`.
void helmholtz(const Rows& d, double a, Rows& rows);

} // namespace uzushio::channel
