#pragma once

#include <functional>
#include <vector>

#include "parallel/compensated_sum.hpp"
#include "solvers/phasefield/lanes.hpp"
#include "solvers/phasefield/observations.hpp"
#include "solvers/phasefield/rows.hpp"
#include "solvers/phasefield/tile_halo.hpp"
#include "solvers/phasefield/trajectory.hpp"
#include "stencil/row.hpp"

/// Kernels of `stencil::Sweep`: one row of the field with its further inputs and outputs. `step` is
/// that of the input row, so the output of backward sweeps is step - 1.
namespace uzushio::phasefield {

/// Return the sum of all lanes.
[[nodiscard]] parallel::CompensatedSum folded(const LaneSum& sum);

/// Sums of each thread, on separate cache lines.
template <class Sums> class PerThread {
  public:
    explicit PerThread(int threads) : padded_(static_cast<std::size_t>(threads)) {}
    Sums& operator[](int thread) { return padded_[static_cast<std::size_t>(thread)].sums; }

    /// Return the total of one of the sums, `of(Sums)`, over threads.
    template <class Of> [[nodiscard]] parallel::CompensatedSum total(Of&& of) const {
        parallel::CompensatedSum total;
        for (const auto& of_thread : padded_)
            total.add(folded(std::invoke(of, of_thread.sums)));
        return total;
    }

  private:
    struct alignas(128) Padded {
        Sums sums;
    };
    std::vector<Padded> padded_;
};

/// Equation (2) from `step` to step + 1. Stores φ of `step` in the trajectory and adds the misfit
/// of step + 1; `trajectory` and `observations` may be null.
struct ForwardKernel {
    const TileHalo& halo;
    Coefficients coefficients;
    Trajectory* trajectory;
    const Observations* observations;
    PerThread<LaneSum> sums;

    void row(int step, const stencil::StencilRow& row);
};

/// Equation (2) in groups of rows, for sweeps without observations that store few steps.
struct AdvanceKernel {
    ForwardKernel forward;

    void rows(int step, const stencil::RowGroup& rows);
};

/// Equations (5) and (6) from `step` to step - 1. `kept` stores λ of `step` at index step - 1.
struct AdjointKernel {
    const TileHalo& halo;
    Coefficients coefficients;
    const Trajectory& trajectory;
    const Observations* observations;
    Trajectory* kept;
    AdjointTerms terms; ///< of own points
    PerThread<AdjointSums> sums;

    void row(int step, const stencil::StencilRow& row);
};

/// Equation (7) from `step` to step + 1. `kept` stores dφ of `step`.
struct TangentKernel {
    const TileHalo& halo;
    Coefficients coefficients;
    const Trajectory& trajectory;
    Trajectory* kept;

    void row(int step, const stencil::StencilRow& row);
};

/// Equations (8) and (9) from `step` to step - 1. `adjoint` has λ of `step` at index step - 1; null
/// for the Gauss-Newton part.
struct SecondOrderKernel {
    const TileHalo& halo;
    Coefficients coefficients;
    const Trajectory& trajectory;
    const Trajectory& tangent;
    const Trajectory* adjoint;
    const Observations* observations;
    PerThread<LaneSum> sums;

    void row(int step, const stencil::StencilRow& row);
};

} // namespace uzushio::phasefield
