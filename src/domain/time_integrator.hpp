#pragma once

#include <functional>
#include <span>
#include <vector>

#include "domain/field.hpp"

namespace uzushio::domain {

/// Explicit Runge-Kutta schemes that need at most one register besides state and derivative.
enum class TimeScheme {
    ssp_rk3,               ///< Shu & Osher 1988, order 3, strong stability preserving
    wray_rk3,              ///< Wray 1990, order 3 (Spalart, Moser & Rogers 1991, appendix A)
    carpenter_kennedy_rk4, ///< Carpenter & Kennedy 1994, RK4(3)5[2N], order 4, Williamson's 2N
                           ///< storage
};

/// Advances a set of fields in time. Owned values are advanced; the right-hand side fills the
/// ghosts that it needs. A value depends on its own values alone, so it is the same on any number
/// of ranks.
template <class T> class TimeIntegrator {
  public:
    /// Sets the owned values of the derivatives from the state at a time. May write the state's
    /// ghosts.
    using RightHandSide = std::function<void(double time, std::span<Field<T>* const> state,
                                             std::span<Field<T>* const> derivative)>;

    /// For fields of these specifications. Derivatives have no ghost layers.
    TimeIntegrator(TimeScheme scheme, const Decomposition& decomposition, int rank,
                   const std::vector<FieldSpec>& specs);

    /// Advance the state from `time` by `dt`. Throws `std::invalid_argument` if the fields are not
    /// those that were specified.
    void step(double time, double dt, std::span<Field<T>* const> state, const RightHandSide& rhs);

    /// Evaluations of the right-hand side in a step.
    [[nodiscard]] int stages() const;

  private:
    TimeScheme scheme_;
    std::vector<Field<T>> derivative_, register_;
    std::vector<Field<T>*> derivatives_; ///< pointers to the former
};

} // namespace uzushio::domain
