#pragma once

#include <mpi.h>

#include <span>
#include <vector>

#include "domain/view.hpp"
#include "linalg/mode_solver.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::linalg {

/// Transfer of values between lists of cells, one a rank, and arrays of boxes that are distributed
/// over the ranks. Planned once.
class CellTransfer {
  public:
    /// `cells`: those of this rank, in the boxes of `layout`; several ranks may list one
    /// (collective). `comm` and `traffic` must outlive the object.
    CellTransfer(MPI_Comm comm, const StageLayout& layout, std::span<const domain::Index<3>> cells,
                 parallel::Traffic& traffic);

    /// Set the values of a list from this rank's and other ranks' arrays (collective).
    void gather(const domain::View<const double>& array, std::span<double> values);
    /// Set the cells of the lists of all ranks in the arrays (collective).
    void scatter(std::span<const double> values, const domain::View<double>& array);

  private:
    /// Positions in a list or an array, by rank.
    struct Side {
        std::vector<std::int64_t> at;
        std::vector<int> counts, begins;
        std::vector<double> buffer;
    };
    void exchange(Side& from, Side& to);

    MPI_Comm comm_;
    parallel::Traffic& traffic_;
    int rank_ = 0;
    Side list_, array_;
};

} // namespace uzushio::linalg
