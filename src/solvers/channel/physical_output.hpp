#pragma once

#include <span>

#include "solvers/channel/solver.hpp"

namespace uzushio::channel {

/// Fields in physical space on the nx × ny points of the case, for output.
class PhysicalOutput {
  public:
    explicit PhysicalOutput(Solver& solver);

    /// Return this rank's rows in y.
    [[nodiscard]] parallel::Range rows() const { return transform_.rows(); }
    /// Write planes [planes][rows][nx] of one spectral field of the solver to `out` (collective).
    /// Allocates nothing of the size of a field.
    void write(const Planes& field, std::span<double> out);
    /// Write the pressure without the w² that the solver's pressure includes (collective).
    void write_pressure(std::span<double> out);

  private:
    [[nodiscard]] std::size_t plane_size() const;
    void write_plane(const Planes& field, int k, double* to);

    Solver& solver_;
    parallel::Traffic traffic_; ///< separate from that of steps
    PlaneTransform transform_;
    parallel::AlignedArray<double> row_;
};

} // namespace uzushio::channel
