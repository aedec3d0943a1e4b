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
    /// Nothing of the size of a field is allocated.
    void write(const parallel::Planes& field, std::span<double> out);
    /// The pressure itself, free of the w² that the solver keeps in it (collective).
    void write_pressure(std::span<double> out);

  private:
    [[nodiscard]] std::size_t plane_size() const;
    void write_plane(const parallel::Planes& field, int k, double* to);

    Solver& solver_;
    parallel::Stopwatch watch_; ///< not part of a step
    parallel::Traffic traffic_;
    spectral::PlaneTransform transform_;
    parallel::AlignedArray<double> row_;
};

} // namespace uzushio::channel
