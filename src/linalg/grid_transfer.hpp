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
    using View = domain::View<float>;

    /// `ghosts`: layers of the fields. `threads`: those that visit rows. `factor`: of restricted
    /// residuals, and so of the corrections that follow from them.
    GridTransfer(const std::array<Axis, 3>& axes, const Coarsened& joined, int ghosts, int threads,
                 double factor);

    /// Add a row's part of the mean of f - A x, times the factor, or of f, over the cells that are
    /// joined, by their volumes. The first row of those that are joined sets `coarse`.
    /// Pointers are to the first cells of the row, `coarse` is the block's view.
    template <class Row>
    void restrict_residual(const Row& row, const float* x, const float* f,
                           const View& coarse) const;
    template <class Row>
    void restrict_row(const Row& row, const float* f, const View& coarse) const;

    /// Add to a row of x, or set it to, the trilinear interpolation of `coarse`, whose ghosts must
    /// be valid, also at edges and corners. Beyond a Dirichlet boundary it is odd, beyond a Neumann
    /// boundary even.
    template <bool Add, class Row> void prolong(const Row& row, const View& coarse, float* x) const;

    /// Return the number of coarse cells over that of cells.
    [[nodiscard]] double coarse_share() const {
        double share = 1;
        for (const Weights& axis : weights_)
            share *= axis.joined ? 0.5 : 1;
        return share;
    }

  private:
    /// For each cell and ghost along one axis.
    struct Weights {
        bool joined = false;
        std::vector<float> own;       ///< weight of the coarse cell that contains it
        std::vector<float> neighbour; ///< of the coarse cell on its side
        std::vector<float> share;     ///< its width over that of the coarse cell

        [[nodiscard]] std::int64_t coarse(std::int64_t cell) const {
            return joined ? cell >> 1 : cell; // ghosts have negative indices
        }
        /// Return the distance from the coarse cell to its neighbour on the cell's side.
        [[nodiscard]] std::int64_t side(std::int64_t cell) const {
            return !joined ? 0 : (cell & 1) == 0 ? -1 : 1;
        }
    };
    /// Return the place of a cell's or a ghost's values in `Weights`.
    [[nodiscard]] std::size_t index(std::int64_t cell) const {
        return static_cast<std::size_t>(cell + ghosts_);
    }
    /// Return the work array of a row.
    [[nodiscard]] float* buffer(const ConstantRow<float>& row) const {
        return buffers_[static_cast<std::size_t>(row.thread)].data();
    }
    template <class Row> void add_to_coarse(const Row& row, const View& coarse) const;
    /// Set the work array to the interpolation of a row of coarse cells along j and k.
    template <class Row> const float* interpolate_across(const Row& row, const View& coarse) const;
    static Weights weights_of(const Axis& axis, bool joined, int ghosts);

    std::array<Weights, 3> weights_;
    int ghosts_;
    float factor_;
    mutable std::vector<std::vector<float>> buffers_; ///< of one row, one a thread
};

} // namespace uzushio::linalg
