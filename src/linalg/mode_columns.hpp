#pragma once

#include <span>
#include <vector>

#include "domain/view.hpp"
#include "linalg/equation.hpp"
#include "parallel/aligned_array.hpp"

namespace uzushio::linalg {

/// Tridiagonal systems along the third axis, one for each mode (i, j) of a box of coefficients:
/// the second difference along k, plus an eigenvalue of each of the other axes, minus s. Solved
/// plane by plane, with the pivots stored. Periodic systems have a border: the last unknown's.
///
/// Rows are multiplied by the cell's width, which makes the matrix symmetric: its factors are the
/// pivots alone and, if periodic, the last row.
class ModeColumns {
  public:
    /// What is known of planes outside a range, where the solution is not computed.
    enum class Outside { zero_source, zero_solution };

    /// `modes`: coefficients of this rank, with all planes or, unless the axis is periodic, a
    /// range, with `outside` in the other planes. `along_i`,
    /// `along_j`: eigenvalues, for the modes from 0 on; `scale`: factor of the right-hand sides;
    /// `singular`: mode (0, 0) has no unique solution, and gets the one with zero mean over the
    /// planes.
    ModeColumns(const domain::Box<3>& modes, const Axis& axis, std::span<const double> along_i,
                std::span<const double> along_j, double s, double scale, bool singular,
                Outside outside = Outside::zero_source);

    /// Eliminate plane k of the right-hand sides of rows [begin, end), from the first plane to the
    /// last. In place.
    void eliminate(const domain::View<double>& x, std::int64_t k, std::int64_t begin,
                   std::int64_t end);
    /// Compute the solution of plane k in rows [begin, end) from that of plane k + 1, from the last
    /// plane to the first. In place.
    void substitute(const domain::View<double>& x, std::int64_t k, std::int64_t begin,
                    std::int64_t end);

    [[nodiscard]] std::size_t bytes() const {
        return pivots_.bytes() + border_.bytes() + last_.bytes();
    }

  private:
    [[nodiscard]] std::int64_t plane() const { return modes_.extent(0) * modes_.extent(1); }
    void factorise(std::span<const double> along_i, std::span<const double> along_j, double s,
                   Outside outside);
    void solve_singular_column();
    template <class Row>
    void for_rows(const domain::View<double>& x, std::int64_t k, std::int64_t begin,
                  std::int64_t end, Row&& row) const;

    domain::Box<3> modes_;
    std::vector<double> widths_, scaled_widths_;
    std::vector<double> coupling_; ///< of k-1 and k; [0]: of the last and the first, if periodic
    bool periodic_;
    bool singular_;                         ///< and mode (0, 0) is of this rank
    parallel::AlignedArray<double> pivots_; ///< reciprocal, [plane][j][i]
    parallel::AlignedArray<double> border_; ///< if periodic: the last row, [plane][j][i]
    /// If periodic: what was eliminated from the last row, then its solution; [j][i].
    parallel::AlignedArray<double> last_;
    std::vector<double> column_; ///< mode (0, 0) of a singular equation
};

} // namespace uzushio::linalg
