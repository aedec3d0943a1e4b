#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "linalg/fftw.hpp"
#include "parallel/aligned_array.hpp"
#include "parallel/block.hpp"
#include "parallel/section_monitor.hpp"
#include "parallel/section_names.hpp"
#include "parallel/traffic.hpp"
#include "solvers/channel/modes.hpp"
#include "solvers/channel/planes.hpp"
#include "solvers/channel/process_grid.hpp"

namespace uzushio::channel {

using linalg::Complex;
using linalg::Plan;

/// Two-dimensional Fourier transforms of xy-planes that Py ranks share: in physical space a rank
/// holds whole rows of a range of y, in spectral space all modes in y of a range of modes in x.
/// An all-to-all lies between, in batches of planes: the messages of one batch overlap with the
/// transforms of another. With one rank nothing is copied.
///
/// A slot holds a batch of planes of one field during a transform:
///   begin_inverse(slot) … end_inverse(slot), then to_physical(slot, plane, row) for each row;
///   to_spectral(slot, plane, row) for each row, then begin_forward(slot) … end_forward(slot), then
///   read column(slot, plane, j). Slots must end in the order in which they began.
class PlaneTransform {
  public:
    /// Plan batches of at most `batch` planes in `slots` slots (collective).
    PlaneTransform(const ProcessGrid& grid, const Modes& modes, int batch, int slots,
                   parallel::SectionMonitor& sections, parallel::Traffic& traffic);

    [[nodiscard]] const Modes& modes() const { return modes_; }
    /// Return this rank's rows of a physical plane.
    [[nodiscard]] parallel::Range rows() const { return rows_; }
    /// Return this rank's modes in x of a spectral plane.
    [[nodiscard]] parallel::Range waves() const { return waves_; }
    /// Return the number of this rank's modes in a plane.
    [[nodiscard]] int local_modes() const { return waves_.size() * modes_.columns_y(); }
    [[nodiscard]] int batch() const { return batch_; }
    /// Return the operations of the transform of one row, 5/2 n log2 n.
    [[nodiscard]] double row_flops() const { return row_flops_; }
    /// Return the bytes of the slots' buffers.
    [[nodiscard]] std::size_t bytes() const;
    /// Plan again with the present wisdom (collective).
    void replan();

    /// Begin to transform planes `first … first + count - 1` of `field`; planes outside `available`
    /// are zero.
    void begin_inverse(int slot, const Planes& field, int first, int count,
                       parallel::Range available);
    void end_inverse(int slot);
    /// Write row `row` (counted from rows().begin) of plane `plane` of the batch to `values`: mx of
    /// them.
    void to_physical(int slot, int plane, int row, double* values);

    /// Set row `row` of plane `plane` of a batch of `count` from mx values, which are overwritten.
    void to_spectral(int slot, int count, int plane, int row, double* values);
    void begin_forward(int slot, int count);
    void end_forward(int slot);
    /// Return the modes waves() of column `j` in y, times mx * my, after end_forward.
    [[nodiscard]] const Complex* column(int slot, int plane, int j) const;

    /// Return the batch size for Py ranks whose messages are large enough for the full bandwidth.
    [[nodiscard]] static int batch_for(const Modes& modes, int py);
    /// Return the padded length of a row of `waves` elements in a plane that is not shared.
    [[nodiscard]] static constexpr int padded(int waves) {
        return waves % 32 == 0 ? waves + 4 : waves;
    }

  private:
    struct Slot {
        parallel::AlignedArray<Complex> y; ///< [my][batch][waves]; with one rank [my][pitch]
        /// Physical side of the all-to-all, [rank][rows][batch][its waves]; unused with one rank.
        parallel::AlignedArray<Complex> x;
        MPI_Request request = MPI_REQUEST_NULL;
        int count = 0;
    };

    /// Counts and offsets of the all-to-all of a batch, in doubles.
    struct AllToAllCounts {
        std::vector<int> x_counts, x_offsets, y_counts, y_offsets;
    };

    [[nodiscard]] bool shared() const { return plane_.size() > 1; }
    /// Return the elements between rows of `y` with one rank. It is no power of two, since then all
    /// elements of a column would be in the same cache sets.
    [[nodiscard]] std::ptrdiff_t pitch() const { return padded(waves_.size()); }
    /// Return the elements between rows of a slot's `y` for a batch of `count` planes.
    [[nodiscard]] std::ptrdiff_t y_stride(int count) const {
        return shared() ? std::ptrdiff_t{count} * waves_.size() : pitch();
    }
    /// Call `part` with a pointer and a range of modes in x for each contiguous part of a row of
    /// `x`.
    template <class F> void for_each_part(Slot& slot, int count, int plane, int row, F&& part);
    void plan_columns(int waves, std::vector<Plan>& backward, std::vector<Plan>& forward);
    [[nodiscard]] AllToAllCounts counts_for(int count) const;

    const parallel::Communicator& all_;
    const parallel::Communicator& plane_;
    Modes modes_;
    int batch_;
    parallel::Range rows_;
    parallel::Range waves_;
    std::vector<Slot> slots_;
    parallel::AlignedArray<Complex>
        row_; ///< one row with all its modes; those that are not kept are zero
    Plan to_physical_;
    Plan to_spectral_;
    std::vector<Plan> backward_; ///< along y, for batches of 1 … batch planes
    std::vector<Plan> forward_;
    std::vector<parallel::Range> blocks_; ///< waves() of each rank that shares the planes
    std::vector<AllToAllCounts> counts_;  ///< for batches of 1 … batch planes
    double row_flops_, column_flops_;     ///< of one transform along x, along y
    parallel::SectionMonitor& sections_;
    parallel::Traffic& traffic_;
};

} // namespace uzushio::channel
