#pragma once

#include <span>

#include "channel/solver.hpp"

namespace uzushio::channel {

/// Fields in physical space on the nx × ny points of the case, for those who look at them.
class Physical {
  public:
    explicit Physical(Solver& solver);

    /// This rank's rows in y.
    [[nodiscard]] parallel::Range rows() const { return transform_.rows(); }
    /// Write planes [planes][rows][nx] of one spectral field of the solver to `out` (collective).
    void write(const parallel::Planes& field, std::span<double> out);
    /// The pressure itself, free of the w² that the solver keeps in it (collective).
    void write_pressure(std::span<double> out);

  private:
    Solver& solver_;
    parallel::Stopwatch watch_; ///< not part of a step
    parallel::Traffic traffic_;
    spectral::PlaneTransform transform_;
};

} // namespace uzushio::channel
