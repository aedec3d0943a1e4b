#pragma once

#include <span>
#include <vector>

#include "linalg/tridiagonal.hpp"

namespace uzushio::channel {

/// The staggered grid between the walls: u, v, p at cell centres, w at faces. Index k of w is the
/// upper face of cell k, so that the last one is the upper wall.
class WallGrid {
  public:
    /// `faces` increase from wall to wall.
    explicit WallGrid(std::span<const double> faces);

    [[nodiscard]] int cells() const { return static_cast<int>(height_.size()); }
    /// Height of cell k.
    [[nodiscard]] double height(int k) const { return height_[static_cast<std::size_t>(k)]; }
    /// Distance between the centres on either side of the upper face of cell k; k = -1 is the lower
    /// wall and k = cells()-1 the upper one, where it is the distance of the centre from the wall.
    [[nodiscard]] double distance(int k) const {
        return distance_[static_cast<std::size_t>(k + 1)];
    }
    [[nodiscard]] const std::vector<double>& centres() const { return centres_; }
    [[nodiscard]] const std::vector<double>& faces() const { return faces_; }

    /// Second difference at centres, zero on the walls: lower, diagonal, upper.
    [[nodiscard]] const linalg::Rows& at_centres() const { return at_centres_; }
    /// Second difference at upper faces, zero on the walls; the wall's own row is zero.
    [[nodiscard]] const linalg::Rows& at_faces() const { return at_faces_; }
    /// Divergence of the gradient at centres, no flux through the walls; weight -1.
    [[nodiscard]] const linalg::Rows& pressure() const { return pressure_; }

  private:
    std::vector<double> faces_, centres_, height_, distance_;
    linalg::Rows at_centres_, at_faces_, pressure_;
};

/// Rows of 1 + a k² - a D, the implicit half of Crank–Nicolson, for second difference `d`.
void helmholtz(const linalg::Rows& d, double a, linalg::Rows& rows);

} // namespace uzushio::channel
