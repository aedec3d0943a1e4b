#pragma once

#include <mpi.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "domain/field.hpp"
#include "linalg/equation.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::linalg {

/// Regions of cells that faces with b = 0 close off, in each of which constants solve the
/// homogeneous equation: the right-hand side has no integral over any of them, and x no mean. An
/// isolated cell and a region with a Dirichlet face are not among them. There are none where all
/// cells that are not isolated are one region, for which the equation says whether it is singular.
class ClosedRegions {
  public:
    using Field = domain::Field<double>;

    ClosedRegions() = default;
    /// Find the regions of an equation with the coefficient `b` and s = 0 (collective). `spec`:
    /// that of a cell-centred field with a ghost layer.
    ClosedRegions(MPI_Comm comm, const Equation& equation, const Field& b,
                  const std::array<Axis, 3>& axes, const domain::FieldSpec& spec, int rank,
                  parallel::Traffic& traffic);

    [[nodiscard]] bool empty() const { return labels_.empty(); }
    /// Throw `std::invalid_argument` on all ranks if the integral of f over a region is more than
    /// round-off (collective).
    void check(const Field& f) const;
    /// Subtract from x its mean over each region (collective).
    void subtract_means(Field& x) const;

  private:
    /// Return the integral of `value(x)` over each region (collective).
    template <class Value>
    [[nodiscard]] std::vector<double> integrals(const Field& x, Value&& value) const;
    /// Call `visit(index, number of the region)` for this rank's cells of closed regions.
    template <class Visit> void for_cells(const Field& x, Visit&& visit) const;

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::array<Axis, 3> axes_;
    std::vector<std::int64_t> labels_; ///< number of the first cell of each region, ascending
    /// Region of each owned cell of each block, in the order of `for_indices`; -1: none.
    std::vector<std::vector<std::int32_t>> regions_;
    std::vector<double> volumes_;
};

} // namespace uzushio::linalg
