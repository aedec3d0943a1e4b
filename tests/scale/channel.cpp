// Communication of a step of the channel on simulated ranks: transforms of planes over the process
// grid, forward and back, and a tridiagonal solve of each mode along z by each scheme. Compile with
// SimGrid's smpicxx; see tests/scale/simulation.py.
//
//   smpirun ... channel NX NY NZ PY SCHEME [REPEATS]
//
// Rank 0 prints the milliseconds of the transforms and of the solve (the largest of all ranks, the
// least of three repeats; computing takes no simulated time), its messages along z in a solve, and
// the number of wrong values on all ranks. With the scheme `none` nothing is solved.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <vector>

#include "solvers/channel/plane_transform.hpp"
#include "solvers/channel/tridiagonal.hpp"

namespace {

using namespace uzushio;
using namespace uzushio::channel;
using parallel::Exchange;

/// Tolerance of values of order one.
constexpr double tolerance = 1e-10;

/// Return the solution at row k of the column.
double exact(int k, int mode) { return std::sin(1.0 + k + 0.37 * (mode % 97)); }

/// Return the physical value of a row: mode 2 in x, mode 1 in y.
double wave(int i, int y, int plane, const Modes& modes) {
    const double turn = 2 * std::acos(-1.0);
    return plane + std::cos(turn * (2.0 * i / modes.mx + 1.0 * y / modes.my));
}

/// Matrix of (2 + shift) x[k] - x[k-1] - x[k+1].
Rows second_difference(int planes) {
    const auto count = static_cast<std::size_t>(planes);
    Rows rows{std::vector(count, -1.0), std::vector(count, 2.0), std::vector(count, -1.0),
              std::vector(count, 1.0)};
    rows.lower.front() = rows.upper.back() = 0;
    return rows;
}

/// Transform this rank's planes to modes and back; return the number of wrong values.
std::int64_t transform_planes(PlaneTransform& transform, int planes) {
    Fields field(1, planes, transform.local_modes());
    const Planes values = field.view();
    const Modes& modes = transform.modes();
    const double scale = 1.0 / modes.mx / modes.my;
    const int waves = transform.waves().size();
    const auto rows = transform.rows();
    parallel::AlignedArray<double> row(static_cast<std::size_t>(modes.mx) + 2);
    std::int64_t wrong = 0;
    for (int first = 0; first < planes; first += transform.batch()) {
        const int count = std::min(transform.batch(), planes - first);
        for (int b = 0; b < count; ++b)
            for (int r = 0; r < rows.size(); ++r) {
                for (int i = 0; i < modes.mx; ++i)
                    row[static_cast<std::size_t>(i)] = wave(i, rows.begin + r, first + b, modes);
                transform.to_spectral(0, count, b, r, row.data());
            }
        transform.begin_forward(0, count);
        transform.end_forward(0);
        for (int b = 0; b < count; ++b)
            for (int j = 0; j < modes.columns_y(); ++j)
                for (int i = 0; i < waves; ++i) {
                    const Complex mode = scale * transform.column(0, b, j)[i];
                    values.re(first + b)[j * waves + i] = mode.real();
                    values.im(first + b)[j * waves + i] = mode.imag();
                }
        transform.begin_inverse(1, values, first, count, {0, planes});
        transform.end_inverse(1);
        for (int b = 0; b < count; ++b)
            for (int r = 0; r < rows.size(); ++r) {
                transform.to_physical(1, b, r, row.data());
                for (int i = 0; i < modes.mx; ++i) {
                    const double expected = wave(i, rows.begin + r, first + b, modes);
                    const double error = row[static_cast<std::size_t>(i)] - expected;
                    wrong += !(std::abs(error) < tolerance);
                }
            }
    }
    return wrong;
}

/// Set the right-hand sides whose solution is `exact`.
void set_right_hand_side(const Planes& x, parallel::Range mine, int rows, double shift) {
    for (int k = mine.begin; k < mine.end; ++k)
        for (int m = 0; m < x.modes; ++m) {
            double value = (2 + shift) * exact(k, m);
            value -= k > 0 ? exact(k - 1, m) : 0;
            value -= k + 1 < rows ? exact(k + 1, m) : 0;
            x.re(k - mine.begin)[m] = x.im(k - mine.begin)[m] = value;
        }
}

std::int64_t wrong_solutions(const Planes& x, parallel::Range mine) {
    std::int64_t wrong = 0;
    for (int k = mine.begin; k < mine.end; ++k)
        for (int m = 0; m < x.modes; ++m)
            for (const double value : {x.re(k - mine.begin)[m], x.im(k - mine.begin)[m]})
                wrong += !(std::abs(value - exact(k, m)) < tolerance);
    return wrong;
}

void run(int nx, int ny, int nz, int py, std::string_view scheme, int repeats) {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    parallel::SectionMonitor sections;
    parallel::Traffic traffic;
    const ProcessGrid grid(MPI_COMM_WORLD, py, ranks / std::max(py, 1));
    const auto mine = parallel::block(nz, grid.pz(), grid.column().rank());
    const Modes modes = Modes::of(nx, ny, Dealiasing::none);
    PlaneTransform transform(grid, modes, PlaneTransform::batch_for(modes, py), 2, sections,
                             traffic);
    const int local = transform.local_modes();
    const Rows rows = second_difference(nz);
    constexpr double shift = 0.5;
    const std::vector<double> shifts(static_cast<std::size_t>(local), shift);
    Fields field(1, mine.size(), local), factors(1, mine.size(), local);
    const bool solves = scheme != "none";
    const auto solver =
        make_tridiagonal(solves ? scheme : "pipelined", {grid, nz, local, 1, 3, sections, traffic});
    const SolveStage stages[] = {
        {{{&rows, shifts.data(), {field.view()}, factors.view()}}, {}, nullptr, nullptr}};

    std::int64_t wrong = 0;
    double seconds[2] = {1e30, 1e30};
    for (int repeat = 0; repeat < repeats; ++repeat) {
        double now[2];
        MPI_Barrier(MPI_COMM_WORLD);
        now[0] = -MPI_Wtime();
        wrong += transform_planes(transform, mine.size());
        now[0] += MPI_Wtime();
        set_right_hand_side(field.view(), mine, nz, shift);
        traffic.reset();
        MPI_Barrier(MPI_COMM_WORLD);
        now[1] = -MPI_Wtime();
        if (solves)
            solver->solve(stages);
        now[1] += MPI_Wtime();
        wrong += solves ? wrong_solutions(field.view(), mine) : 0;
        MPI_Allreduce(MPI_IN_PLACE, now, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        for (int i = 0; i < 2; ++i)
            seconds[i] = std::min(seconds[i], now[i]);
    }
    std::int64_t messages = 0;
    for (const auto kind : {Exchange::transpose_z, Exchange::column_shift, Exchange::interfaces})
        messages += traffic[kind].messages;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (grid.all().rank() == 0)
        std::printf("transforms %.6f ms, solve %.6f ms, %d messages along z, %d wrong\n",
                    1e3 * seconds[0], 1e3 * seconds[1], static_cast<int>(messages),
                    static_cast<int>(wrong));
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int status = 1;
    if (argc != 6 && argc != 7) {
        std::fprintf(stderr, "usage: channel NX NY NZ PY SCHEME [REPEATS]\n");
    } else {
        try {
            run(std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]),
                argv[5], argc > 6 ? std::atoi(argv[6]) : 3);
            status = 0;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s\n", error.what());
        }
    }
    MPI_Finalize();
    return status;
}
