#pragma once

#include "solvers/phasefield/kernels.hpp"
#include "solvers/phasefield/observations.hpp"
#include "solvers/phasefield/rows.hpp"
#include "solvers/phasefield/tile_halo.hpp"
#include "solvers/phasefield/trajectory.hpp"
#include "stencil/replay.hpp"

namespace uzushio::phasefield {

/// Equations (5) and (6) over a block of steps of which the trajectory stores the first state, for
/// `stencil::Replay`.
class ReplayedAdjoint : public stencil::ReplayedModel {
  public:
    /// `lambda`: λ at the end of the block, with its halo filled; `result`: λ at its beginning,
    /// without a halo. `halo` is that of λ and of the observations; the trajectory has its own.
    ReplayedAdjoint(const TileHalo& halo, const Coefficients& coefficients,
                    const Trajectory& trajectory, int first, const Observations* observed,
                    const HaloField<const double>& lambda, const HaloField<double>& result,
                    AdjointTerms terms, PerThread<AdjointSums>& sums)
        : halo_(halo), coefficients_(coefficients), state_halo_(trajectory.halo()),
          phi_(trajectory.field(first)), observed_(observed), lambda_(lambda), result_(result),
          terms_(terms), sums_(sums) {}

    void state(int y, int begin, int end, double* to) override;
    void adjoint(int y, int begin, int end, double* to) override;
    double* result(int y) override { return halo_.row(result_, y, TileHalo::interior); }
    void forward(int step, const stencil::StencilRow& row) override;
    void backward(int step, const stencil::StencilRow& row, const double* state) override;

  private:
    const TileHalo& halo_;
    Coefficients coefficients_;
    const TileHalo& state_halo_;
    HaloField<const double> phi_;
    const Observations* observed_;
    HaloField<const double> lambda_;
    HaloField<double> result_;
    AdjointTerms terms_;
    PerThread<AdjointSums>& sums_;
};

} // namespace uzushio::phasefield
