#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solvers/phasefield/rows.hpp"
#include "solvers/phasefield/tile_halo.hpp"

namespace uzushio::phasefield {

/// View of consecutive layers of rows: `pitch` is the distance of rows, `stride` that of layers, in
/// values.
struct LayeredRows {
    const double* data = nullptr;
    std::ptrdiff_t pitch = 0;
    std::ptrdiff_t stride = 0;
};

/// Observations at some of the steps: views of the caller's arrays of this rank's tile, which must
/// outlive them, and copies of the neighbours' values in the halo.
class Observations {
  public:
    /// `weights`: with null data, `weight` applies everywhere; with stride 0, all steps have the
    /// same weights. `huber`: see `ObservedRow`. `steps` increase and are identical on all ranks
    /// (collective if the halo is not empty).
    Observations(const TileHalo& halo, std::vector<int> steps, LayeredRows values,
                 LayeredRows weights, double weight, double huber);

    [[nodiscard]] bool uniform() const { return weights_.data == nullptr; }
    /// Factor of the sums of `misfit_row`.
    [[nodiscard]] double factor() const { return uniform() ? weight_ : 1.0; }

    /// Return row y of a step, for the columns of one piece of `TileHalo::cut`.
    [[nodiscard]] ObservedRow row(int step, int y, int strip) const;

  private:
    [[nodiscard]] HaloField<const double> values(int index) const;
    [[nodiscard]] HaloField<const double> weights(int index) const;

    const TileHalo* halo_;
    std::vector<int> index_of_; ///< index of a step in `values`, or -1
    LayeredRows values_, weights_;
    double weight_, huber_;
    std::vector<double> value_halos_, weight_halos_;
};

} // namespace uzushio::phasefield
