#pragma once

#include <fftw3.h>

#include <complex>
#include <memory>
#include <string>
#include <type_traits>

#include "parallel/communicator.hpp"

namespace uzushio::linalg {

using Complex = std::complex<double>;

struct DestroyPlan {
    void operator()(fftw_plan plan) const { fftw_destroy_plan(plan); }
};
/// Owner of an FFTW plan.
using Plan = std::unique_ptr<std::remove_pointer_t<fftw_plan>, DestroyPlan>;

inline fftw_complex* fftw_cast(Complex* data) { return reinterpret_cast<fftw_complex*>(data); }

/// Return the measurements of FFTW's planner as text. A run on the same machine that imports them
/// first has the same plans, and therefore the same rounding.
[[nodiscard]] std::string export_wisdom();

/// Use only `wisdom` from now on. Return false if FFTW cannot parse it.
bool import_wisdom(const std::string& wisdom);

/// Import the wisdom of rank 0 on all ranks, so that all have the same plans (collective).
void share_wisdom(const parallel::Communicator& comm);

} // namespace uzushio::linalg
