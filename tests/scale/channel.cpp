// Communication of a step of the channel on simulated ranks: transforms of planes over the process
// grid, forward and back, and a tridiagonal solve of each mode along z by each scheme. Compile with
// SimGrid's smpicxx; see tests/scale/simulation.py.
//
//   smpirun … channel NX NY NZ PY SCHEME [REPEATS [BATCH [NS_OF_ROWS NS_OF_COLUMNS]]]
//
// Rank 0 prints the milliseconds of the transforms and of the solve (the largest of all ranks, the
// least of the repeats), its messages along z in a solve, the number of wrong values on all ranks,
// and the nanoseconds a point that computing of rows and columns takes (of rank 0, the least). With
// the scheme `none` nothing is solved. BATCH is the number of planes of an all-to-all, 0: that of
// the solver; if it is negative, all-to-alls overlap with the transforms of other batches.
// Computing takes no simulated time, or the times a point that are given.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
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
namespace section = parallel::section;

/// Tolerance of values of order one.
constexpr double tolerance = 1e-10;

/// Return the solution at row k of the column.
double exact(int k, int mode) { return std::sin(1.0 + k + 0.37 * (mode % 97)); }

/// Nanoseconds of computing a point: simulated time to spend, or times that were measured.
struct Computing {
    double rows = 0, columns = 0;
};

/// Return the seconds of a section.
double seconds_of(const parallel::SectionMonitor& sections, std::string_view name) {
    double seconds = 0;
    for (const auto& one : sections.sections())
        seconds += one.name == name ? one.seconds : 0;
    return seconds;
}

/// Let simulated time pass on this rank's core.
void compute([[maybe_unused]] double nanoseconds) {
#if defined(SMPI_H) || defined(MPI_SMPI)
    if (nanoseconds > 0)
        smpi_execute(1e-9 * nanoseconds);
#endif
}

/// Matrix of (2 + shift) x[k] - x[k-1] - x[k+1].
Rows second_difference(int planes) {
    const auto count = static_cast<std::size_t>(planes);
    Rows rows{std::vector(count, -1.0), std::vector(count, 2.0), std::vector(count, -1.0),
              std::vector(count, 1.0)};
    rows.lower.front() = rows.upper.back() = 0;
    return rows;
}

/// Transforms of a rank's planes to modes and back, in batches, with a check of the values: mode 2
/// in x, mode 1 in y, and the number of the plane.
class Transforms {
  public:
    Transforms(PlaneTransform& transform, int planes, Computing given,
               parallel::SectionMonitor& sections)
        : transform_(transform), sections_(sections), planes_(planes), given_(given),
          field_(1, planes, transform.local_modes()),
          row_(static_cast<std::size_t>(transform.modes().mx) + 2) {
        const double turn = 2 * std::acos(-1.0);
        const Modes& modes = transform.modes();
        for (int i = 0; i < modes.mx; ++i)
            x_.push_back(std::polar(1.0, turn * 2 * i / modes.mx));
        for (int j = 0; j < modes.my; ++j)
            y_.push_back(std::polar(1.0, turn * j / modes.my));
    }

    /// Run a batch to its end before the next one, or with messages in flight; return the number of
    /// wrong values.
    std::int64_t run(bool overlapped) {
        wrong_ = 0;
        rows_seconds_ = 0;
        const int batches = (planes_ + transform_.batch() - 1) / transform_.batch();
        const int ahead = overlapped ? 1 : 0;
        for (int step = 0; step < batches + 2 * ahead; ++step) {
            if (step < batches)
                to_spectral(step);
            if (step >= ahead && step - ahead < batches)
                to_modes_and_back(step - ahead);
            if (step >= 2 * ahead)
                to_physical(step - 2 * ahead);
        }
        return wrong_;
    }
    /// Return the measured seconds of rows in the last run.
    [[nodiscard]] double rows_seconds() const { return rows_seconds_; }
    /// Return this rank's points in rows, and in columns.
    [[nodiscard]] double row_points() const {
        return 1.0 * planes_ * transform_.rows().size() * transform_.modes().mx;
    }
    [[nodiscard]] double column_points() const {
        return 1.0 * planes_ * transform_.waves().size() * transform_.modes().my;
    }

  private:
    [[nodiscard]] int first(int batch) const { return batch * transform_.batch(); }
    [[nodiscard]] int count(int batch) const {
        return std::min(transform_.batch(), planes_ - first(batch));
    }
    [[nodiscard]] double wave(int i, int y, int plane) const {
        const auto& a = x_[static_cast<std::size_t>(i)];
        const auto& b = y_[static_cast<std::size_t>(y)];
        return plane + a.real() * b.real() - a.imag() * b.imag();
    }
    /// Let half of the rows' and columns' computing of a batch take simulated time.
    void compute_half(int batch, bool rows) const {
        const double share = 0.5 * count(batch) / planes_;
        compute(share * (rows ? given_.rows * row_points() : given_.columns * column_points()));
    }
    void to_spectral(int batch) {
        rows_seconds_ -= MPI_Wtime();
        for (int b = 0; b < count(batch); ++b)
            for (int r = 0; r < transform_.rows().size(); ++r) {
                for (int i = 0; i < transform_.modes().mx; ++i)
                    row_[static_cast<std::size_t>(i)] =
                        wave(i, transform_.rows().begin + r, first(batch) + b);
                transform_.to_spectral(batch % 2, count(batch), b, r, row_.data());
                transform_.progress();
            }
        rows_seconds_ += MPI_Wtime();
        compute_half(batch, true);
        sections_.lap(section::pointwise);
        transform_.begin_forward(batch % 2, count(batch));
    }
    void to_modes_and_back(int batch) {
        transform_.end_forward(batch % 2);
        compute_half(batch, false);
        const Planes values = field_.view();
        const Modes& modes = transform_.modes();
        const double scale = 1.0 / modes.mx / modes.my;
        const int waves = transform_.waves().size();
        for (int b = 0; b < count(batch); ++b)
            for (int j = 0; j < modes.columns_y(); ++j)
                for (int i = 0; i < waves; ++i) {
                    const Complex mode = scale * transform_.column(batch % 2, b, j)[i];
                    values.re(first(batch) + b)[j * waves + i] = mode.real();
                    values.im(first(batch) + b)[j * waves + i] = mode.imag();
                }
        compute_half(batch, false);
        transform_.begin_inverse(2 + batch % 2, values, first(batch), count(batch), {0, planes_});
    }
    void to_physical(int batch) {
        transform_.end_inverse(2 + batch % 2);
        compute_half(batch, true);
        rows_seconds_ -= MPI_Wtime();
        for (int b = 0; b < count(batch); ++b)
            for (int r = 0; r < transform_.rows().size(); ++r) {
                transform_.to_physical(2 + batch % 2, b, r, row_.data());
                transform_.progress();
                for (int i = 0; i < transform_.modes().mx; ++i) {
                    const double expected = wave(i, transform_.rows().begin + r, first(batch) + b);
                    const double error = row_[static_cast<std::size_t>(i)] - expected;
                    wrong_ += !(std::abs(error) < tolerance);
                }
            }
        rows_seconds_ += MPI_Wtime();
    }

    PlaneTransform& transform_;
    parallel::SectionMonitor& sections_;
    int planes_;
    Computing given_;
    Fields field_;
    parallel::AlignedArray<double> row_;
    std::vector<Complex> x_, y_; ///< waves
    std::int64_t wrong_ = 0;
    double rows_seconds_ = 0;
};

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

void run(int nx, int ny, int nz, int py, std::string_view scheme, int repeats, int batch,
         Computing given) {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    parallel::SectionMonitor sections;
    parallel::Traffic traffic;
    const ProcessGrid grid(MPI_COMM_WORLD, py, ranks / std::max(py, 1));
    const auto mine = parallel::block(nz, grid.pz(), grid.column().rank());
    const Modes modes = Modes::of(nx, ny, Dealiasing::none);
    const int planes_a_batch = batch == 0 ? PlaneTransform::batch_for(modes, py) : std::abs(batch);
    PlaneTransform transform(grid, modes, planes_a_batch, 4, sections, traffic);
    Transforms transforms(transform, mine.size(), given, sections);
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
    Computing computing{1e30, 1e30};
    double seconds[2] = {1e30, 1e30};
    for (int repeat = 0; repeat < repeats; ++repeat) {
        double now[2];
        MPI_Barrier(MPI_COMM_WORLD);
        now[0] = -MPI_Wtime();
        sections.reset();
        wrong += transforms.run(batch < 0);
        now[0] += MPI_Wtime();
        const double in_rows = transforms.rows_seconds();
        const double in_columns = now[0] - seconds_of(sections, section::transpose) - in_rows;
        computing.rows = std::min(computing.rows, 1e9 * in_rows / transforms.row_points());
        computing.columns =
            std::min(computing.columns, 1e9 * in_columns / transforms.column_points());
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
        std::printf("transforms %.6f ms, solve %.6f ms, %d messages along z, %d wrong, "
                    "%.4f ns a point of rows, %.4f of columns\n",
                    1e3 * seconds[0], 1e3 * seconds[1], static_cast<int>(messages),
                    static_cast<int>(wrong), computing.rows, computing.columns);
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int status = 1;
    const auto number = [&](int i, double otherwise) {
        return argc > i ? std::atof(argv[i]) : otherwise;
    };
    if (argc < 6 || argc > 10) {
        std::fprintf(stderr, "usage: channel NX NY NZ PY SCHEME [REPEATS [BATCH [NS NS]]]\n");
    } else {
        try {
            run(std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]),
                argv[5], static_cast<int>(number(6, 3)), static_cast<int>(number(7, 0)),
                {number(8, 0), number(9, 0)});
            status = 0;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s\n", error.what());
        }
    }
    MPI_Finalize();
    return status;
}
