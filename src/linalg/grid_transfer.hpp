#pragma once

#include <array>
#include <vector>

#include "linalg/coarsening.hpp"
#include "linalg/grid_operator.hpp"

namespace uzushio::linalg {

/// Restriction and prolongation between a level of a multigrid cycle and the next coarser one,
/// whose blocks are those of `coarse_blocks`. In single precision.
class GridTransfer {
  public:
    using Field = domain::Field<float>;

    GridTransfer(const std::array<Axis, 3>& axes, const Coarsened& joined);

    /// Set `coarse` to the mean of f - A x over the cells that are joined, by their volumes.
    void restrict_residual(GridOperator<float>& a, Field& x, const Field& f, Field& coarse) const;

    /// Add to x the linear interpolation of `coarse`, whose ghosts must be valid. Beyond a
    /// Dirichlet boundary it is odd, beyond a Neumann boundary even.
    void add_prolongation(const GridOperator<float>& a, const Field& coarse, Field& x) const;

  private:
    /// For each cell along one axis.
    struct Weights {
        bool joined = false;
        std::vector<float> own;       ///< added to 1 for the coarse cell that contains it
        std::vector<float> neighbour; ///< of the coarse cell on its side
        std::vector<float> share;     ///< its width over that of the coarse cell

        [[nodiscard]] std::int64_t coarse(std::int64_t cell) const {
            return joined ? cell / 2 : cell;
        }
        /// Return the distance from the coarse cell to its neighbour on the cell's side.
        [[nodiscard]] std::int64_t side(std::int64_t cell) const {
            return !joined ? 0 : cell % 2 == 0 ? -1 : 1;
        }
    };
    /// Return the number of coarse cells over that of cells.
    [[nodiscard]] double coarse_share() const {
        double share = 1;
        for (const Weights& axis : weights_)
            share *= axis.joined ? 0.5 : 1;
        return share;
    }
    static Weights weights_of(const Axis& axis, bool joined);

    std::array<Weights, 3> weights_;
    mutable std::vector<float> buffer_; ///< residual of one row
};

} // namespace uzushio::linalg
