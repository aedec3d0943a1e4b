#pragma once

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

/// Stage of a step: a right-hand side, and an update of the state by it. Times are parts of the
/// step.
struct StageInfo {
    int index = 0, count = 1;
    double begin = 0, end = 1; ///< times of the state before and after it
    /// A constant derivative, added for this time to states that were changed after earlier stages,
    /// has the effect of the stage.
    double length = 1;
    double weight = 1; ///< of the derivative in the mean over the step that the state changes by
    [[nodiscard]] bool is_first() const { return index == 0; }
    [[nodiscard]] bool is_last() const { return index + 1 == count; }
};

/// Integrator of a set of fields in time. A step is, for each of its stages: set `derivatives` from
/// the state at the stage's begin, then `advance`. Each value is computed pointwise, so that it is
/// the same on any number of ranks.
template <class T> class TimeIntegrator {
  public:
    /// Allocate derivatives and registers of fields with these specifications, without ghost
    /// layers.
    TimeIntegrator(TimeScheme scheme, const Decomposition& decomposition, int rank,
                   const std::vector<FieldSpec>& specs);

    [[nodiscard]] std::span<const StageInfo> stages() const { return stages_; }
    /// Return the derivatives of the fields, whose owned values the caller sets in each stage.
    [[nodiscard]] std::span<Field<T>* const> derivatives() const { return derivatives_; }

    /// Advance the owned values of the state by a stage of a step of length `dt`. The caller may
    /// change the state after a stage; the register of SSP-RK3 remains the state at the begin of
    /// the step. Throws `std::invalid_argument` if the fields do not have the constructor's
    /// specifications.
    void advance(const StageInfo& stage, double dt, std::span<Field<T>* const> state);

    /// Return the work of `advance` in a stage.
    [[nodiscard]] parallel::Work work(const StageInfo& stage) const;

  private:
    TimeScheme scheme_;
    std::vector<StageInfo> stages_;
    double values_ = 0; ///< of all fields on this rank
    std::vector<Field<T>> derivative_, register_;
    std::vector<Field<T>*> derivatives_; ///< pointers to `derivative_`
};

} // namespace uzushio::domain
