#pragma once

#include <algorithm>
#include <deque>

#include "parallel/section_monitor.hpp"
#include "parallel/section_names.hpp"
#include "parallel/thread_records.hpp"
#include "parallel/threads.hpp"
#include "parallel/traffic.hpp"
#include "solvers/channel/convection_part.hpp"
#include "solvers/channel/parameters.hpp"
#include "solvers/channel/plane_transform.hpp"
#include "solvers/channel/planes.hpp"
#include "solvers/channel/process_grid.hpp"
#include "solvers/channel/wall_grid.hpp"

namespace uzushio::channel {

/// Convective terms in divergence form, in one pass over the planes from the lower wall to the
/// upper. Three fields are transformed to physical space and seven products back; only a few planes
/// are in physical space at a time.
///
/// The scheme conserves kinetic energy on stretched grids too: the flux through a face is that of
/// the mean of the two cells for u and v, and of half of each cell's volume flux for w. The product
/// w w at centres is part of the pressure (C. Basdevant, J. Comput. Phys. 50 (1983)), which saves
/// one transform: the pressure of the solver is p + w w.
///
/// Each thread of the rank has consecutive planes. The terms have the same bits for any number of
/// threads, and of ranks along z.
class Convection {
  public:
    Convection(const Parameters& parameters, const ProcessGrid& grid, const WallGrid& wall,
               parallel::SectionMonitor& sections, parallel::Traffic& traffic);

    /// Compute n = -div(velocity velocity) on all planes of this rank (collective). The ghost
    /// planes of u and v above and of w below must be up to date.
    void evaluate(const Velocity& velocity, const Velocity& n) { evaluate(velocity, n, false); }
    /// Compute the same, and return this rank's maximum of |u|/dx + |v|/dy + |w|/(pi dz), or
    /// infinity if a value is not finite. Pi times the maximum bounds the frequency of any wave:
    /// wave numbers reach pi/dx, those of differences in z only 1/dz.
    double evaluate_with_rate(const Velocity& velocity, const Velocity& n);

    /// Return the parts of the planes of a rank, one for each thread that has planes.
    [[nodiscard]] static int parts(const Parameters& parameters, int planes) {
        return std::min(parameters.threads, planes);
    }
    /// Return the transform of the calling thread.
    [[nodiscard]] PlaneTransform& transform() { return parts_.back().transform(); }
    /// Call `call(transform, planes)` on each thread with its own transform and its planes among
    /// those of the rank (collective).
    template <class Call> void on_parts(Call&& call) {
        parallel::on_threads(threads_, static_cast<int>(parts_.size()), [&](int part) {
            auto& own = parts_[static_cast<std::size_t>(part)];
            call(own.transform(), own.planes());
        });
        records_.collect();
    }
    /// Plan the transforms of all threads again with the present wisdom (collective).
    void replan();
    [[nodiscard]] std::size_t bytes() const;

    /// Fields that `evaluate` must move between memory and processor: the velocity is read, three
    /// terms are written.
    static constexpr int field_passes = 3 + 3;

  private:
    void evaluate(const Velocity& velocity, const Velocity& n, bool measures_rate);
    void exchange_flux(const Velocity& n);
    /// Return the bytes of this rank's part of a number of fields.
    [[nodiscard]] double bytes_of(int fields) const {
        return 16.0 * fields * planes_.size() * parts_.front().transform().local_modes();
    }

    const ProcessGrid& grid_;
    parallel::Range planes_;
    int threads_;
    parallel::SectionMonitor& sections_;
    parallel::Traffic& traffic_;
    parallel::ThreadRecords records_;
    std::deque<ProcessGrid> grids_;           ///< of the threads but the calling one
    std::deque<ConvectionPart> parts_;        ///< of the threads: the lowest planes are the last
    parallel::AlignedArray<double> incoming_; ///< fluxes from the rank below
};

} // namespace uzushio::channel
