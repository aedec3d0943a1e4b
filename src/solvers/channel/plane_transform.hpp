#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "linalg/fftw.hpp"
#include "parallel/aligned_array.hpp"
#include "parallel/block.hpp"
#include "parallel/flight_time.hpp"
#include "parallel/section_monitor.hpp"
#include "parallel/section_names.hpp"
#include "parallel/shared_arrays.hpp"
#include "parallel/traffic.hpp"
#include "solvers/channel/modes.hpp"
#include "solvers/channel/planes.hpp"
#include "solvers/channel/process_grid.hpp"

namespace uzushio::channel {

using linalg::Complex;
using linalg::Plan;

using SingleComplex = std::complex<float>;

/// Precision in which values are sent in all-to-alls; computing is in double precision.
enum class SentPrecision { full, single };

/// How values get from the ranks that hold rows of a plane to those that hold its modes, and back.
enum class Transposes {
    messages,      ///< a batch is finished before the next one is transformed
    overlapped,    ///< messages of two batches are in flight while a third one is transformed
    shared_memory, ///< ranks read and write each other's memory, without messages, if those that
                   ///< share a plane are on one node; else as with `messages`
};

/// Two-dimensional Fourier transforms of xy-planes that Py ranks share: in physical space a rank
/// holds whole rows of a range of y, in spectral space all modes in y of a range of modes in x.
/// An all-to-all lies between, in batches of planes: the messages of one batch overlap with the
/// transforms of another. With one rank nothing is copied. With `SentPrecision::single` values are
/// rounded between the transforms along y and along x, also those that a rank keeps: results have
/// the same bits on any number of ranks.
///
/// A slot holds a batch of planes of one field during a transform:
///   begin_inverse(slot) … end_inverse(slot), then to_physical(slot, plane, row) for each row;
///   to_spectral(slot, plane, row) for each row, then begin_forward(slot) … end_forward(slot), then
///   read column(slot, plane, j). Slots must end in the order in which they began.
class PlaneTransform {
  public:
    /// Plan batches of at most `batch` planes in `slots` slots (collective).
    PlaneTransform(const ProcessGrid& grid, const Modes& modes, int batch, int slots,
                   parallel::SectionMonitor& sections, parallel::Traffic& traffic,
                   SentPrecision precision = SentPrecision::full,
                   Transposes transposes = Transposes::messages);

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
    /// Return the time that all-to-alls were in flight, and the part of it in calls of MPI.
    [[nodiscard]] parallel::FlightTime& flight_time() { return flight_time_; }
    /// Plan again with the present wisdom (collective).
    void replan();

    /// Begin to transform planes `first … first + count - 1` of `field`; planes outside `available`
    /// are zero.
    void begin_inverse(int slot, const Planes& field, int first, int count,
                       parallel::Range available);
    void end_inverse(int slot);
    /// Let messages in flight progress: to be called often while other values are transformed.
    void progress();
    /// Let the other ranks have the values of all slots that began; without a call, the next end of
    /// one does it. Rows or columns of slots that ended must not be read afterwards.
    void publish();
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
    /// Planes of a batch in shared memory, which then stay in cache: there are no short messages.
    static constexpr int batch_if_shared = 1;
    /// Return the bytes of a value in an all-to-all.
    [[nodiscard]] static constexpr int sent_bytes(SentPrecision precision) {
        return precision == SentPrecision::single ? sizeof(SingleComplex) : sizeof(Complex);
    }
    /// Return the padded length of a row of `waves` elements in a plane that is not shared.
    [[nodiscard]] static constexpr int padded(int waves) {
        return waves % 32 == 0 ? waves + 4 : waves;
    }

  private:
    struct Slot {
        Complex* y = nullptr;                  ///< [my][batch][waves]; with one rank [my][pitch]
        parallel::AlignedArray<Complex> own_y; ///< memory of `y`, if it is not shared
        /// Physical side of the all-to-all, [rank][rows][batch][its waves], in the precision in
        /// which it is sent; unused with one rank.
        parallel::AlignedArray<Complex> x;
        parallel::AlignedArray<SingleComplex> single_x;
        int count = 0;
        std::uint64_t ready = 0;   ///< point of `memory_` at which all ranks have its values
        std::uint64_t read_at = 0; ///< point after which ranks read it, 0: not in use
    };

    /// Counts and offsets of the all-to-all of a batch, in real values.
    struct AllToAllCounts {
        std::vector<int> x_counts, x_offsets, y_counts, y_offsets;
    };

    [[nodiscard]] bool shared() const { return plane_.size() > 1; }
    /// Return whether values are sent, and not read and written where they lie.
    [[nodiscard]] bool sends() const { return shared() && !memory_; }
    /// Return the elements of the `y` of a slot of a rank, padded to cache lines.
    [[nodiscard]] std::size_t y_size(int rank) const;
    void share_memory();
    [[nodiscard]] Complex* shared_y(int rank, std::size_t slot) const;
    void send(std::size_t slot, bool to_physical_side);
    /// Wait until no rank reads a slot in shared memory any more.
    void reclaim(Slot& slot);
    [[nodiscard]] bool single() const { return precision_ == SentPrecision::single; }
    /// Return the elements between rows of `y` with one rank. It is no power of two, since then all
    /// elements of a column would be in the same cache sets.
    [[nodiscard]] std::ptrdiff_t pitch() const { return padded(waves_.size()); }
    /// Return the elements between rows of a slot's `y` for a batch of `count` planes.
    [[nodiscard]] std::ptrdiff_t y_stride(int count) const {
        return shared() ? std::ptrdiff_t{count} * waves_.size() : pitch();
    }
    /// Return the real values of a slot's `y` with several ranks.
    [[nodiscard]] std::size_t y_values(const Slot& slot) const {
        return 2 * static_cast<std::size_t>(modes_.my) * static_cast<std::size_t>(slot.count) *
               static_cast<std::size_t>(waves_.size());
    }
    /// Call `part` with a pointer and a range of modes in x for each contiguous part of a row of
    /// the physical side.
    template <class F> void for_each_part(Slot& slot, int count, int plane, int row, F&& part);
    void plan_columns(int waves, std::vector<Plan>& backward, std::vector<Plan>& forward);
    [[nodiscard]] AllToAllCounts counts_for(int count) const;
    /// Begin the all-to-all of a slot to its physical side, or from there.
    void begin_exchange(int index, bool to_physical_side);
    void end_exchange(int index);

    const parallel::Communicator& all_;
    const parallel::Communicator& plane_;
    parallel::MpiTurn& turn_;
    Modes modes_;
    SentPrecision precision_;
    int batch_;
    parallel::Range rows_;
    parallel::Range waves_;
    std::optional<parallel::SharedArrays>
        memory_;                   ///< `y` of all slots, with `Transposes::shared_memory`
    std::uint64_t last_point_ = 0; ///< at which this rank arrived
    std::vector<Slot> slots_;
    std::vector<MPI_Request> requests_; ///< of the slots
    std::vector<int> completed_;        ///< indices of slots, written by MPI
    int in_flight_ = 0;                 ///< requests
    parallel::FlightTime flight_time_;
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
