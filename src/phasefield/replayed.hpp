#pragma once

#include "phasefield/coefficients.hpp"
#include "phasefield/frame.hpp"
#include "phasefield/kernels.hpp"
#include "phasefield/observed.hpp"
#include "phasefield/trajectory.hpp"
#include "stencil/replay.hpp"

namespace uzushio::phasefield {

/// Equations (5) and (6) through a block of steps of which the trajectory keeps the first, as
/// `stencil::Replay` takes them.
class Replayed : public stencil::ReplayedModel {
  public:
    /// `lambda`: at the block's end, with its frame filled; `made`: at its beginning, where it
    /// goes, without a frame. `frame` is that of both and of what was seen; `trajectory` has its
    /// own.
    Replayed(const Frame& frame, const Coefficients& coefficients, const Trajectory& trajectory,
             int first, const Observed* observed, const Layer<const double>& lambda,
             const Layer<double>& made, Summed summed, PerThread<AdjointSums>& sums)
        : frame_(frame), coefficients_(coefficients), wide_(trajectory.frame()),
          phi_(trajectory.layer(first)), observed_(observed), lambda_(lambda), made_(made),
          summed_(summed), sums_(sums) {}

    void state(int y, int begin, int end, double* to) override;
    void adjoint(int y, int begin, int end, double* to) override;
    double* result(int y) override { return frame_.row(made_, y, Frame::inside); }
    void forward(int step, const stencil::Row& row) override;
    void backward(int step, const stencil::Row& row, const double* state) override;

  private:
    const Frame& frame_;
    Coefficients coefficients_;
    const Frame& wide_;
    Layer<const double> phi_;
    const Observed* observed_;
    Layer<const double> lambda_;
    Layer<double> made_;
    Summed summed_;
    PerThread<AdjointSums>& sums_;
};

} // namespace uzushio::phasefield
