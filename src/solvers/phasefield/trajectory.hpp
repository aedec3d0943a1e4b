#pragma once

#include <cstddef>
#include <span>

#include "parallel/aligned_array.hpp"
#include "solvers/phasefield/tile_halo.hpp"

namespace uzushio::phasefield {

/// Field at consecutive steps, on this rank's tile and its halo. Memory is allocated once and
/// reused by further runs; rows are aligned to 64 bytes.
class Trajectory {
  public:
    /// Allocate `steps` steps, of which every `interval`-th is stored, from the first on. `halo`
    /// must outlive the trajectory.
    Trajectory(const TileHalo& halo, int steps, int interval = 1);

    /// Begin a run that writes steps first to last - 1.
    void begin(int first, int last);
    [[nodiscard]] int first() const { return first_; }
    [[nodiscard]] int last() const { return last_; }
    [[nodiscard]] int steps() const { return steps_; }
    [[nodiscard]] bool covers(int first, int last) const {
        return first >= first_ && last <= last_;
    }
    [[nodiscard]] int interval() const { return interval_; }
    /// Whether a covered step is stored.
    [[nodiscard]] bool stores(int step) const { return (step - first_) % interval_ == 0; }
    /// Return the last stored step before `step`.
    [[nodiscard]] int stored_before(int step) const {
        return first_ + (step - 1 - first_) / interval_ * interval_;
    }
    [[nodiscard]] const TileHalo& halo() const { return *halo_; }
    [[nodiscard]] const stencil::Rect& own() const { return halo_->own(); }
    [[nodiscard]] std::size_t bytes() const { return tiles_.bytes() + halos_.bytes(); }

    /// Return the field of a stored step.
    [[nodiscard]] HaloField<double> field(int step) {
        return {tiles_.data() + index(step) * tile_, pitch_,
                halos_.data() + index(step) * halo_->size()};
    }
    [[nodiscard]] HaloField<const double> field(int step) const {
        return {tiles_.data() + index(step) * tile_, pitch_,
                halos_.data() + index(step) * halo_->size()};
    }

    /// Append a tile, in row-major order, as the step after the last.
    void append(std::span<const double> tile);

    /// Fill the halos of all steps from the neighbours, once after each `begin` (collective).
    /// Return the messages of this rank.
    stencil::MessageCount fill_halos();

    /// Copy the tile of a stored step in row-major order; throw `std::out_of_range` if it is not
    /// stored.
    void copy(int step, double* to) const;

  private:
    [[nodiscard]] std::size_t index(int step) const {
        return static_cast<std::size_t>((step - first_) / interval_);
    }

    const TileHalo* halo_;
    int steps_;
    int interval_;
    int first_ = 0;
    int last_ = 0;
    bool halos_filled_ = false;
    std::ptrdiff_t pitch_;
    std::size_t tile_;
    parallel::AlignedArray<double> tiles_;
    parallel::AlignedArray<double> halos_;
};

} // namespace uzushio::phasefield
