#pragma once

#include <functional>
#include <vector>

#include "phasefield/coefficients.hpp"
#include "phasefield/frame.hpp"
#include "phasefield/lane_sum.hpp"
#include "phasefield/observed.hpp"
#include "phasefield/rows.hpp"
#include "phasefield/trajectory.hpp"
#include "stencil/compensated_sum.hpp"
#include "stencil/row.hpp"

/// The sweeps as `stencil::Sweep` takes them: what a row of the field reads and writes besides.
/// `step` is that of the values that are read, so backward sweeps make step - 1.
namespace uzushio::phasefield {

/// All lanes of a sum.
[[nodiscard]] stencil::CompensatedSum folded(const LaneSum& sum);

/// Sums of each thread, apart in memory.
template <class Sums> class PerThread {
  public:
    explicit PerThread(int threads) : slots_(static_cast<std::size_t>(threads)) {}
    Sums& operator[](int thread) { return slots_[static_cast<std::size_t>(thread)].sums; }

    /// All terms of one of the sums, `of(Sums)`.
    template <class Of> [[nodiscard]] stencil::CompensatedSum total(Of&& of) const {
        stencil::CompensatedSum total;
        for (const auto& slot : slots_)
            total.add(folded(std::invoke(of, slot.sums)));
        return total;
    }

  private:
    struct alignas(128) Slot {
        Sums sums;
    };
    std::vector<Slot> slots_;
};

/// Equation (2) from `step` to step + 1. Writes φ of `step` into the trajectory, and sums what was
/// seen of step + 1; either may be null.
struct Forward {
    const Frame& frame;
    Coefficients coefficients;
    Trajectory* trajectory;
    const Observed* observed;
    PerThread<LaneSum> sums;

    void row(int step, const stencil::Row& row);
};

/// The same where hardly any step is written, and nothing was seen: rows are taken together.
struct Advance {
    Forward whole;

    void rows(int step, const stencil::Rows& rows);
};

/// Equations (5) and (6) from `step` to step - 1. `kept`: where λ of `step` goes, as of step - 1.
struct Adjoint {
    const Frame& frame;
    Coefficients coefficients;
    const Trajectory& trajectory;
    const Observed* observed;
    Trajectory* kept;
    Summed summed; ///< of points that count
    PerThread<AdjointSums> sums;

    void row(int step, const stencil::Row& row);
};

/// Equation (7) from `step` to step + 1. `kept`: where dφ of `step` goes.
struct Tangent {
    const Frame& frame;
    Coefficients coefficients;
    const Trajectory& trajectory;
    Trajectory* kept;

    void row(int step, const stencil::Row& row);
};

/// Equations (8) and (9) from `step` to step - 1. `adjoint` keeps λ of `step` as of step - 1; null
/// for Gauss and Newton's part.
struct SecondOrder {
    const Frame& frame;
    Coefficients coefficients;
    const Trajectory& trajectory;
    const Trajectory& tangent;
    const Trajectory* adjoint;
    const Observed* observed;
    PerThread<LaneSum> sums;

    void row(int step, const stencil::Row& row);
};

} // namespace uzushio::phasefield
