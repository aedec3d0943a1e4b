#pragma once

#include <deque>
#include <span>
#include <vector>

#include "parallel/thread_records.hpp"
#include "solvers/channel/solver.hpp"

namespace uzushio::channel {

/// Fields in physical space on the nx × ny points of the case, for output. The threads of the
/// solver share the planes.
class PhysicalOutput {
  public:
    /// Collective.
    explicit PhysicalOutput(Solver& solver);
    PhysicalOutput(const PhysicalOutput&) = delete;
    PhysicalOutput& operator=(const PhysicalOutput&) = delete;

    /// Return this rank's rows in y.
    [[nodiscard]] parallel::Range rows() const { return transforms_.front().rows(); }
    /// Write planes [planes][rows][nx] of one spectral field of the solver to `out` (collective).
    /// Allocates nothing of the size of a field.
    void write(const Planes& field, std::span<double> out);
    /// Write the pressure without the w² that the solver's pressure includes (collective).
    void write_pressure(std::span<double> out);

  private:
    [[nodiscard]] std::size_t plane_size() const;
    /// Call `call(part, planes)` for the planes of each thread.
    template <class Call> void on_parts(Call&& call);
    void write_plane(int part, const Planes& field, int k, double* to);

    Solver& solver_;
    parallel::Traffic traffic_; ///< separate from that of steps
    parallel::ThreadRecords records_;
    std::deque<ProcessGrid> grids_;          ///< of the threads but the calling one
    std::deque<PlaneTransform> transforms_;  ///< of the threads
    std::vector<std::vector<double>> lines_; ///< of the threads: one row
};

} // namespace uzushio::channel
