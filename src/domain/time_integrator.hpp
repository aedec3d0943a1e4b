#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "domain/field.hpp"
#include "parallel/work.hpp"

namespace uzushio::domain {

/// Explicit Runge-Kutta schemes that need at most one register besides state and derivative.
enum class TimeScheme {
    ssp_rk3,               ///< Shu & Osher 1988, order 3, strong stability preserving
    wray_rk3,              ///< Wray 1990, order 3 (Spalart, Moser & Rogers 1991, appendix A)
    carpenter_kennedy_rk4, ///< Carpenter & Kennedy 1994, RK4(3)5[2N], order 4, Williamson's 2N
                           ///< storage
};

/// Return the scheme of a name, that of its enumerator. Throws `std::invalid_argument` if there is
/// none.
[[nodiscard]] TimeScheme time_scheme(std::string_view name);

/// Return the number of evaluations of the right-hand side in a step of a scheme.
[[nodiscard]] int stages_of(TimeScheme scheme);

/// Stage of a step.
struct StageInfo {
    int index = 0, count = 1;
    double weight = 1; ///< of the derivative in the mean over the step that the state changes by
    [[nodiscard]] bool is_first() const { return index == 0; }
    [[nodiscard]] bool is_last() const { return index + 1 == count; }
};

/// Integrator of a set of fields in time. It advances owned values; the right-hand side fills the
/// ghosts that it needs. Each value is computed pointwise, so that it is the same on any number of
/// ranks.
template <class T> class TimeIntegrator {
  public:
    /// Function that sets the owned values of the derivatives from the state at a time. It may
    /// write the state's ghosts.
    using RightHandSide = std::function<void(double time, std::span<Field<T>* const> state,
                                             std::span<Field<T>* const> derivative)>;

    /// Function that changes the state after a stage, which has advanced it to a time. A constant
    /// derivative, added `length` times to states that the function has changed before, has the
    /// effect of the stage. The register of SSP-RK3 remains the state at the begin of the step.
    using AfterStage = std::function<void(double time, double length)>;

    /// Allocate derivatives and registers of fields with these specifications, without ghost
    /// layers.
    TimeIntegrator(TimeScheme scheme, const Decomposition& decomposition, int rank,
                   const std::vector<FieldSpec>& specs);

    /// Advance the state from `time` by `dt`. Throws `std::invalid_argument` if the fields do not
    /// have the constructor's specifications.
    void step(double time, double dt, std::span<Field<T>* const> state, const RightHandSide& rhs,
              const AfterStage& after = {});

    /// Return the stage whose right-hand side was computed last.
    [[nodiscard]] const StageInfo& stage() const { return stage_; }

    /// Return the work of a step, without that of the right-hand side.
    [[nodiscard]] parallel::Work work() const { return work_; }

  private:
    TimeScheme scheme_;
    StageInfo stage_;
    parallel::Work work_;
    std::vector<Field<T>> derivative_, register_;
    std::vector<Field<T>*> derivatives_; ///< pointers to `derivative_`
};

} // namespace uzushio::domain
