#pragma once

#include <vector>

#include "parallel/section_monitor.hpp"
#include "parallel/section_names.hpp"
#include "parallel/traffic.hpp"
#include "solvers/channel/parameters.hpp"
#include "solvers/channel/plane_transform.hpp"
#include "solvers/channel/planes.hpp"
#include "solvers/channel/process_grid.hpp"
#include "solvers/channel/wall_grid.hpp"

namespace uzushio::channel {

/// Velocity components, or other vectors, on the staggered grid.
struct Velocity {
    Planes u, v, w;
};

/// Convective terms in divergence form, in one pass over the planes from the lower wall to the
/// upper. Three fields are transformed to physical space and seven products back; only a few planes
/// are in physical space at a time.
///
/// The scheme conserves kinetic energy on stretched grids too: the flux through a face is that of
/// the mean of the two cells for u and v, and of half of each cell's volume flux for w. The product
/// w w at centres is part of the pressure (C. Basdevant, J. Comput. Phys. 50 (1983)), which saves
/// one transform: the pressure of the solver is p + w w.
class Convection {
  public:
    Convection(const Parameters& parameters, const ProcessGrid& grid, const WallGrid& wall,
               parallel::SectionMonitor& sections, parallel::Traffic& traffic);

    /// Compute n = -div(velocity velocity) on all planes of this rank (collective). The ghost
    /// planes of u and v above and of w below must be up to date.
    void evaluate(const Velocity& velocity, const Velocity& n);
    /// Compute the same, and return this rank's maximum of |u|/dx + |v|/dy + |w|/(pi dz), or
    /// infinity if a value is not finite. Pi times the maximum bounds the frequency of any wave:
    /// wave numbers reach pi/dx, those of differences in z only 1/dz.
    double evaluate_with_rate(const Velocity& velocity, const Velocity& n);

    /// Return the numbers of batches in flight at a time: each has slots of its own.
    [[nodiscard]] static int slot_sets(const Parameters& parameters) {
        const bool single = parameters.transposes == Transposes::messages;
        return single || parameters.py == 1 ? 1 : 2;
    }
    [[nodiscard]] PlaneTransform& transform() { return transform_; }
    [[nodiscard]] std::size_t bytes() const;

    /// Fields that `evaluate` must move between memory and processor: the velocity is read, three
    /// terms are written.
    static constexpr int field_passes = 3 + 3;

  private:
    enum Slot { in_u, in_v, in_w, uu, uv, vv, uw, vw, wu, wv, slots };

    /// Planes that are transformed together, in slots from `first_slot` on.
    struct Batch {
        int first, count, first_slot;
    };
    [[nodiscard]] Batch batch(int index) const;
    void start(const Velocity& velocity, const Batch& batch);
    void end_inverse(const Batch& batch);
    void products(const Batch& batch, int plane);
    void combine(const Velocity& n, const Batch& batch);
    void combine(const Velocity& n, int first_slot, int plane, int k);
    void flux_from_below(const Velocity& n);
    /// Return the bytes of this rank's part of a number of fields.
    [[nodiscard]] double bytes_of(int fields) const {
        return 16.0 * fields * planes_.size() * transform_.local_modes();
    }
    [[nodiscard]] double* row(parallel::AlignedArray<double>& values, int row) const {
        return values.data() + std::ptrdiff_t{row} * pitch_;
    }

    const ProcessGrid& grid_;
    const WallGrid& wall_;
    parallel::Range planes_;
    int slot_sets_;
    bool overlapped_; ///< products of a batch are in flight while the next one is transformed
    PlaneTransform transform_;
    std::ptrdiff_t pitch_;
    double per_dx_, per_dy_;
    std::vector<double> kx_, ky_; ///< wave numbers of this rank's columns
    /// Physical planes: u and v of this cell and the next, w of the faces below and above.
    parallel::AlignedArray<double> u_, v_, w_, u_above_, v_above_, w_above_;
    parallel::AlignedArray<double> scratch_;  ///< rows of seven products
    parallel::AlignedArray<double> flux_;     ///< uw and vw through the face below, re and im
    parallel::AlignedArray<double> incoming_; ///< the same from the rank below
    bool measures_rate_ = false;
    double max_rate_ = 0;
    double rate_sum_ = 0; ///< not finite if a value is not finite
    parallel::SectionMonitor& sections_;
    parallel::Traffic& traffic_;
};

} // namespace uzushio::channel
