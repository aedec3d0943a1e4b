#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "domain/view.hpp"
#include "linalg/equation.hpp"
#include "linalg/mode_columns.hpp"
#include "parallel/aligned_array.hpp"
#include "parallel/block.hpp"
#include "parallel/communicator.hpp"
#include "parallel/section_monitor.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::linalg {

/// Tridiagonal systems of `ModeColumns` along an axis that is not periodic, on planes that several
/// ranks hold. A rank solves the systems of its own planes as if those of others were zero. Its
/// solution lacks two known columns times the solution in the planes beside: those of the first and
/// last planes of all ranks make up one small tridiagonal system for each mode, of which each rank
/// solves a part of the modes. The solution depends on the number of ranks by rounding.
///
/// Source: E. Polizzi, A. H. Sameh, Parallel Comput. 32 (2006), 177 (SPIKE).
class PartitionedColumns {
  public:
    /// `line`: the ranks that hold the same modes, by increasing planes. `modes`: box of this rank;
    /// the other arguments are those of `ModeColumns` (collective).
    PartitionedColumns(parallel::Communicator line, const domain::Box<3>& modes, const Axis& axis,
                       std::span<const double> along_i, std::span<const double> along_j, double s,
                       double scale, bool singular, parallel::Traffic& traffic,
                       parallel::SectionMonitor& sections);

    /// Solve rows [begin, end) as if the planes of other ranks were zero. In place. Any number of
    /// threads may do parts of the rows.
    void solve_own(const domain::View<double>& x, std::int64_t begin, std::int64_t end);
    /// Compute the solution in the planes beside (collective): after `keep_singular` and
    /// `solve_own` of all rows.
    void exchange(const domain::View<double>& x);
    /// Add what the planes beside contribute to rows [begin, end). In place.
    void correct(const domain::View<double>& x, std::int64_t begin, std::int64_t end) const;
    /// Keep the right-hand side of the mode whose solution is not unique, before `solve_own`.
    void keep_singular(const domain::View<double>& x);

    [[nodiscard]] std::size_t bytes() const;

  private:
    [[nodiscard]] int columns() const {
        return static_cast<int>(modes_.extent(0) * modes_.extent(1));
    }
    [[nodiscard]] int rows_of(int rank) const { return planes_of_[std::size_t(rank)] < 2 ? 1 : 2; }
    /// Return the plane of an interface row of this rank.
    [[nodiscard]] std::int64_t plane(int row) const {
        return row == 0 ? modes_.lower[2] : modes_.upper[2] - 1;
    }
    void compute_spikes();
    void factorise();
    void solve_small();
    void solve_singular(const domain::View<double>& x);
    /// Send `values` of each interface row and mode to the ranks that solve the modes' systems.
    void gather_rows(int values);

    parallel::Communicator line_;
    domain::Box<3> modes_;
    ModeColumns own_;
    std::vector<double> couplings_; ///< with the planes below and above; 0 at the ends of the axis
    std::vector<int> planes_of_;    ///< of the ranks
    std::vector<int> first_row_;    ///< of the interface rows of the ranks
    int total_rows_ = 0;
    parallel::Range mine_; ///< modes whose small systems this rank solves
    /// Columns that the solution in the plane below, or above, is multiplied by, [plane][j][i].
    parallel::AlignedArray<double> below_spike_, above_spike_;
    parallel::AlignedArray<double> rows_;  ///< sent, [rank][row][value][its modes]
    parallel::AlignedArray<double> small_; ///< [row][value][my modes]
    /// Factors of the small systems, [row][lower, upper, reciprocal pivot, beside][my modes].
    parallel::AlignedArray<double> factors_;
    parallel::AlignedArray<double> beside_; ///< solution in the planes below and above, [2][j][i]
    std::vector<double> singular_column_;   ///< right-hand side of mode (0, 0) in all planes
    std::vector<ModeColumns> singular_;     ///< its solver, if this rank has the mode
    parallel::Traffic& traffic_;
    parallel::SectionMonitor& sections_;
};

} // namespace uzushio::linalg
