#pragma once

#include <fftw3.h>

#include <complex>
#include <memory>
#include <string>
#include <type_traits>

#include "parallel/communicator.hpp"

namespace uzushio::spectral {

using Complex = std::complex<double>;

struct DestroyPlan {
    void operator()(fftw_plan plan) const { fftw_destroy_plan(plan); }
};
/// Owns an FFTW plan.
using Plan = std::unique_ptr<std::remove_pointer_t<fftw_plan>, DestroyPlan>;

inline fftw_complex* fftw_cast(Complex* data) { return reinterpret_cast<fftw_complex*>(data); }

/// What the planner has measured, as text: importing it first gives the same plans, and so the same
/// rounding, in another run on the same machine.
[[nodiscard]] std::string export_wisdom();

/// Use only `wisdom` from now on; false if FFTW does not understand it.
bool import_wisdom(const std::string& wisdom);

/// Give every rank the wisdom of rank 0, so that all make the same plans (collective).
void share_wisdom(const parallel::Communicator& comm);

} // namespace uzushio::spectral
