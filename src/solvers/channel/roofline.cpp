#include "solvers/channel/roofline.hpp"

#include <algorithm>

#include "linalg/fftw.hpp"
#include "parallel/min_seconds.hpp"

namespace uzushio::channel {

using linalg::fftw_cast;
using linalg::Plan;
using parallel::min_seconds;

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
    parallel::AlignedArray<linalg::Complex> plane(complexes);
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
    // The first substep reads no old terms.
    return solver.bytes_of(3 * (Convection::field_passes + Solver::solve_passes) - 3);
}

} // namespace uzushio::channel
