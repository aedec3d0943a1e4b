#include "channel/roofline.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "spectral/fftw.hpp"

namespace uzushio::channel {

namespace {

using spectral::fftw_cast;
using spectral::Plan;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Return the minimum time of `repeats` runs of `work`, which all ranks start together.
template <class F> double min_seconds(MPI_Comm comm, int repeats, F&& work) {
    double shortest = std::numeric_limits<double>::max();
    for (int i = 0; i < repeats; ++i) {
        MPI_Barrier(comm);
        const double start = now();
        work();
        shortest = std::min(shortest, now() - start);
    }
    return shortest;
}

} // namespace

double fft_seconds(Solver& solver, int repeats) {
    const auto& transform = solver.transform();
    const auto& modes = transform.modes();
    const int rows = transform.rows().size();
    const int waves = transform.waves().size();
    const int pitch = modes.mx / 2 + 1;
    const auto doubles = static_cast<std::size_t>(rows) * static_cast<std::size_t>(modes.mx);
    const auto complexes =
        static_cast<std::size_t>(pitch) * static_cast<std::size_t>(std::max(modes.my, rows));
    parallel::AlignedArray<double> physical(doubles);
    parallel::AlignedArray<spectral::Complex> plane(complexes);
    fftw_complex* y = fftw_cast(plane.data());
    const int nx[] = {modes.mx};
    const int ny[] = {modes.my};
    const auto along_y = [&](int sign) {
        return Plan(fftw_plan_many_dft(1, ny, waves, y, nullptr, pitch, 1, y, nullptr, pitch, 1,
                                       sign, FFTW_MEASURE));
    };
    const Plan columns_back = along_y(FFTW_BACKWARD);
    const Plan columns_forth = along_y(FFTW_FORWARD);
    const Plan rows_back(fftw_plan_many_dft_c2r(1, nx, rows, y, nullptr, 1, pitch, physical.data(),
                                                nullptr, 1, modes.mx, FFTW_MEASURE));
    const Plan rows_forth(fftw_plan_many_dft_r2c(1, nx, rows, physical.data(), nullptr, 1, modes.mx,
                                                 y, nullptr, 1, pitch, FFTW_MEASURE));
    const int planes = solver.planes().size();
    const MPI_Comm comm = solver.grid().all().get();
    double seconds = min_seconds(comm, repeats, [&] {
        for (int substep = 0; substep < 3; ++substep) {
            for (int k = 0; k < 3 * (planes + 1); ++k) {
                fftw_execute(columns_back.get());
                fftw_execute(rows_back.get());
            }
            for (int k = 0; k < 7 * planes; ++k) {
                fftw_execute(rows_forth.get());
                fftw_execute(columns_forth.get());
            }
        }
    });
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
    return seconds;
}

double min_bytes(const Solver& solver) {
    // Convection reads the velocity and writes three terms; the rest of a substep reads the
    // velocity, the pressure, the new and (but for the first substep) the old terms, and writes
    // the velocity and the pressure.
    constexpr double convection = 3 + 3;
    constexpr double rest = 3 + 1 + 3 + 3 + 3 + 1;
    constexpr double passes = 3 * (convection + rest) - 3;
    return passes * 16.0 * solver.planes().size() * static_cast<double>(solver.k2().size());
}

double triad_rate(MPI_Comm comm, std::size_t doubles, int repeats) {
    parallel::AlignedArray<double> a(doubles), b(doubles), c(doubles);
    const double seconds = min_seconds(comm, repeats, [&] {
        double* __restrict to = a.data();
        const double* __restrict x = b.data();
        const double* __restrict y = c.data();
        for (std::size_t i = 0; i < doubles; ++i)
            to[i] = x[i] + 3.0 * y[i];
        asm volatile("" : : "r"(to) : "memory"); // the compiler must not drop the loop
    });
    double rate = 3.0 * sizeof(double) * static_cast<double>(doubles) / seconds;
    MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_SUM, comm);
    return rate;
}

} // namespace uzushio::channel
