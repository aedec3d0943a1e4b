#pragma once

#include <limits>
#include <span>
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

/// Convective terms of consecutive planes of this rank, in one pass of one thread from the lowest
/// to the highest. See `Convection`.
///
/// The flux through the lowest face is that of the planes below, which another thread or rank
/// computes last: the terms of the lowest plane wait for it.
class ConvectionPart {
  public:
    /// `planes`: those of this part among those of the rank, at least one.
    ConvectionPart(const Parameters& parameters, const ProcessGrid& grid, const WallGrid& wall,
                   parallel::Range planes, parallel::SectionMonitor& sections,
                   parallel::Traffic& traffic);

    /// Compute the terms (collective over the ranks that share the planes), and with
    /// `measures_rate` the maximum of the rate and whether all values are finite.
    void evaluate(const Velocity& velocity, const Velocity& n, bool measures_rate);
    /// Return the maximum of |u|/dx + |v|/dy + |w|/(pi dz), or infinity if a value is not finite.
    [[nodiscard]] double max_rate() const;
    /// Return the fluxes of u and v through the highest face: re and im of all modes of u, of v.
    [[nodiscard]] std::span<const double> upper_flux() const {
        return {flux_.data(), flux_.size()};
    }
    /// Complete the terms of the lowest plane with the fluxes of the planes below.
    void add_lower_flux(const Velocity& n, std::span<const double> flux);
    /// Return whether the lowest plane is at a wall: there is no flux from below.
    [[nodiscard]] bool is_at_wall() const { return rank_planes_.begin + planes_.begin == 0; }

    /// Return the planes of this part among those of the rank.
    [[nodiscard]] parallel::Range planes() const { return planes_; }
    [[nodiscard]] PlaneTransform& transform() { return transform_; }
    [[nodiscard]] const PlaneTransform& transform() const { return transform_; }
    [[nodiscard]] std::size_t bytes() const;

    /// Return the numbers of batches in flight at a time: each has slots of its own.
    [[nodiscard]] static int slot_sets(const Parameters& parameters) {
        const bool single = parameters.transposes == Transposes::messages;
        return single || parameters.py == 1 ? 1 : 2;
    }

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
    /// `completes`: whether `flux_` holds the fluxes from below.
    template <bool completes> void combine(const Velocity& n, int first_slot, int plane, int k);
    [[nodiscard]] double* row(parallel::AlignedArray<double>& values, int row) const {
        return values.data() + std::ptrdiff_t{row} * pitch_;
    }

    const WallGrid& wall_;
    parallel::Range rank_planes_; ///< of the column
    parallel::Range planes_;      ///< of the rank
    int slot_sets_;
    bool overlapped_; ///< products of a batch are in flight while the next one is transformed
    PlaneTransform transform_;
    std::ptrdiff_t pitch_;
    double per_dx_, per_dy_;
    std::vector<double> kx_, ky_; ///< wave numbers of this rank's columns
    /// Physical planes: u and v of this cell and the next, w of the faces below and above.
    parallel::AlignedArray<double> u_, v_, w_, u_above_, v_above_, w_above_;
    parallel::AlignedArray<double> scratch_;    ///< rows of seven products
    parallel::AlignedArray<double> flux_;       ///< uw and vw through the face below, re and im
    parallel::AlignedArray<double> first_flux_; ///< the same through the lowest plane's upper face
    bool measures_rate_ = false;
    double max_rate_ = 0;
    double rate_sum_ = 0; ///< not finite if a value is not finite
    parallel::SectionMonitor& sections_;
};

} // namespace uzushio::channel
