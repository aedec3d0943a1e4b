// Worker of bench/linalg.py: times our solvers of Poisson's equation beside hypre's conjugate
// gradients with PFMG, FFTW's transforms and STREAM's triad, in turns, on one rank. Prints a line
// of JSON. Arguments: cells an axis, repetitions.
#include <HYPRE_struct_ls.h>
#include <fftw3.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "linalg/fftw.hpp"
#include "linalg/grid_operator.hpp"
#include "linalg/solvers.hpp"
#include "parallel/aligned_array.hpp"
#include "support/elliptic_case.hpp"

namespace {

using namespace uzushio::linalg;
using uzushio::linalg::Plan;
using uzushio::parallel::AlignedArray;
using uzushio::parallel::SectionMonitor;
using uzushio::parallel::Traffic;

constexpr double tolerance = 1e-8;

/// Return the processor time of this process: other processes count only by the caches and memory
/// that they take.
double processor_time() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_of(const std::function<void()>& work) {
    const double begin = processor_time();
    work();
    return processor_time() - begin;
}

/// STREAM's triad, in arrays that do not fit into caches.
class Triad {
  public:
    Triad() : a_(size), b_(size), c_(size) {}
    void operator()() {
        const double taken = seconds_of([this] {
            double* __restrict a = a_.data();
            const double* __restrict b = b_.data();
            const double* __restrict c = c_.data();
            for (std::size_t i = 0; i < size; ++i)
                a[i] = b[i] + 3.0 * c[i];
        });
        rate_ = std::max(rate_, 24.0 * static_cast<double>(size) / taken);
    }
    /// Return bytes a second.
    [[nodiscard]] double rate() const { return rate_; }

  private:
    static constexpr std::size_t size = 1 << 23;
    AlignedArray<double> a_, b_, c_;
    double rate_ = 0;
};

/// Figures by name.
using Figures = nlohmann::json;

/// A cube with Dirichlet conditions at all walls.
EllipticCase cube(std::int64_t cells) {
    constexpr Ends walls{Condition::dirichlet, Condition::dirichlet};
    return {.cells = {cells, cells, cells}, .ends = {walls, walls, walls}, .lengths = {1, 1, 1}};
}

/// Return the norm of f - A x over that of f.
double residual(const EllipticCase& c, const std::vector<double>& f, const std::vector<double>& x) {
    const std::vector<double> ax = applied(c, x);
    double rr = 0, ff = 0;
    for (std::size_t i = 0; i < f.size(); ++i) {
        rr += (f[i] - ax[i]) * (f[i] - ax[i]);
        ff += f[i] * f[i];
    }
    return std::sqrt(rr / ff);
}

/// One of our solvers, with arrays of its own.
class Ours {
  public:
    Ours(const std::string& name, const EllipticCase& c)
        : case_(c), right_(random_solution(c, 1)), f_(right_.size()), x_(right_.size()) {
        std::copy(right_.begin(), right_.end(), f_.data());
        setup_ = seconds_of([&] {
            solver_ = make_solver(name, MPI_COMM_WORLD, c.equation(1), {tolerance, 500}, traffic_,
                                  sections_);
        });
        sections_.reset();
    }
    void operator()() {
        const auto cells = Box<3>::of(case_.cells);
        std::fill_n(x_.data(), x_.size(), 0.0);
        seconds_ =
            std::min(seconds_, seconds_of([&] {
                         report_ = solver_->solve({{f_.data(), cells, 1}}, {{x_.data(), cells, 1}});
                     }));
        ++solves_;
    }
    void write(Figures& figures, const std::string& name) const {
        double bytes = 0;
        for (const auto& section : sections_.sections())
            bytes += section.work.bytes / solves_;
        figures[name + ".seconds"] = seconds_;
        figures[name + ".setup"] = setup_;
        figures[name + ".iterations"] = report_.iterations;
        figures[name + ".residual"] = residual(case_, right_, {x_.data(), x_.data() + x_.size()});
        figures[name + ".bytes"] = bytes;
    }

  private:
    EllipticCase case_;
    std::vector<double> right_;
    AlignedArray<double> f_, x_; ///< in huge pages, as fields
    Traffic traffic_;
    SectionMonitor sections_;
    std::unique_ptr<LinearSolver> solver_;
    SolveReport report_;
    double setup_ = 0, seconds_ = std::numeric_limits<double>::max();
    int solves_ = 0;
};

/// hypre's conjugate gradients with one PFMG cycle for the same matrix, times -h².
class Hypre {
  public:
    explicit Hypre(const EllipticCase& c) : case_(c), f_(random_solution(c, 1)), x_(f_.size()) {
        HYPRE_StructGridCreate(MPI_COMM_WORLD, 3, &grid_);
        for (int a = 0; a < 3; ++a)
            upper_[a] = static_cast<int>(c.cells[0]) - 1;
        HYPRE_StructGridSetExtents(grid_, lower_, upper_);
        HYPRE_StructGridAssemble(grid_);
        HYPRE_StructStencilCreate(3, 4, &stencil_); // symmetric: the other half is known
        int offsets[4][3] = {{0, 0, 0}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}};
        for (int entry = 0; entry < 4; ++entry)
            HYPRE_StructStencilSetElement(stencil_, entry, offsets[entry]);
        HYPRE_StructMatrixCreate(MPI_COMM_WORLD, grid_, stencil_, &matrix_);
        HYPRE_StructMatrixSetSymmetric(matrix_, 1);
        HYPRE_StructMatrixInitialize(matrix_);
        set_matrix();
        HYPRE_StructMatrixAssemble(matrix_);
        for (HYPRE_StructVector* vector : {&right_, &solution_}) {
            HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid_, vector);
            HYPRE_StructVectorInitialize(*vector);
        }
        std::vector<double> scaled(f_.size());
        const double h = 1.0 / static_cast<double>(c.cells[0]);
        std::transform(f_.begin(), f_.end(), scaled.begin(), [h](double f) { return -h * h * f; });
        HYPRE_StructVectorSetBoxValues(right_, lower_, upper_, scaled.data());
        HYPRE_StructVectorAssemble(right_);
        choose();
    }
    ~Hypre() {
        destroy_solvers();
        HYPRE_StructVectorDestroy(right_);
        HYPRE_StructVectorDestroy(solution_);
        HYPRE_StructMatrixDestroy(matrix_);
        HYPRE_StructStencilDestroy(stencil_);
        HYPRE_StructGridDestroy(grid_);
    }
    Hypre(const Hypre&) = delete;
    Hypre& operator=(const Hypre&) = delete;

    void operator()() { seconds_ = std::min(seconds_, solve()); }
    void write(Figures& figures) {
        HYPRE_StructVectorGetBoxValues(solution_, lower_, upper_, x_.data());
        int iterations = 0;
        HYPRE_StructPCGGetNumIterations(pcg_, &iterations);
        figures["hypre.seconds"] = seconds_;
        figures["hypre.setup"] = setup_;
        figures["hypre.iterations"] = iterations;
        figures["hypre.residual"] = residual(case_, f_, x_);
        figures["hypre.rap_type"] = best_.rap;
        figures["hypre.relax_type"] = best_.relax;
        figures["hypre.skip_relax"] = best_.skip;
    }

  private:
    struct Options {
        int rap, relax, skip;
    };

    void set_matrix() {
        std::vector<double> values(4 * f_.size());
        for_indices(Box<3>::of(case_.cells), [&](const Index<3>& i) {
            double* entries = values.data() + 4 * case_.at(i);
            entries[0] = 6;
            for (std::size_t a = 0; a < 3; ++a) {
                // A wall is half a cell away.
                entries[0] += (i[a] == 0 ? 1 : 0) + (i[a] + 1 == case_.cells[a] ? 1 : 0);
                entries[1 + a] = i[a] == 0 ? 0 : -1;
            }
        });
        int entries[] = {0, 1, 2, 3};
        HYPRE_StructMatrixSetBoxValues(matrix_, lower_, upper_, 4, entries, values.data());
    }
    /// Keep the fastest of the options with which PFMG is symmetric.
    void choose() {
        double least = std::numeric_limits<double>::max();
        for (const int rap : {0, 1})       // Galerkin; the stencil of the equation
            for (const int relax : {1, 2}) // weighted Jacobi; red-black, symmetric
                for (const int skip : {0, 1}) {
                    set_up({rap, relax, skip});
                    solve(); // pages of its arrays are touched for the first time
                    if (const double taken = std::min(solve(), solve()); taken < least) {
                        least = taken;
                        best_ = {rap, relax, skip};
                    }
                }
        setup_ = seconds_of([&] { set_up(best_); });
    }
    void set_up(const Options& options) {
        destroy_solvers();
        HYPRE_StructPFMGCreate(MPI_COMM_WORLD, &pfmg_);
        HYPRE_StructPFMGSetMaxIter(pfmg_, 1);
        HYPRE_StructPFMGSetTol(pfmg_, 0.0);
        HYPRE_StructPFMGSetZeroGuess(pfmg_);
        HYPRE_StructPFMGSetRAPType(pfmg_, options.rap);
        HYPRE_StructPFMGSetRelaxType(pfmg_, options.relax);
        HYPRE_StructPFMGSetSkipRelax(pfmg_, options.skip);
        HYPRE_StructPCGCreate(MPI_COMM_WORLD, &pcg_);
        HYPRE_StructPCGSetTwoNorm(pcg_, 1);
        HYPRE_StructPCGSetTol(pcg_, tolerance);
        HYPRE_StructPCGSetMaxIter(pcg_, 500);
        HYPRE_StructPCGSetPrecond(pcg_, HYPRE_StructPFMGSolve, HYPRE_StructPFMGSetup, pfmg_);
        HYPRE_StructPCGSetup(pcg_, matrix_, right_, solution_);
    }
    double solve() {
        HYPRE_StructVectorSetConstantValues(solution_, 0.0);
        return seconds_of([&] { HYPRE_StructPCGSolve(pcg_, matrix_, right_, solution_); });
    }
    void destroy_solvers() {
        if (pcg_ != nullptr) {
            HYPRE_StructPCGDestroy(pcg_);
            HYPRE_StructPFMGDestroy(pfmg_);
        }
    }

    EllipticCase case_;
    std::vector<double> f_, x_;
    int lower_[3] = {0, 0, 0}, upper_[3] = {};
    HYPRE_StructGrid grid_ = nullptr;
    HYPRE_StructStencil stencil_ = nullptr;
    HYPRE_StructMatrix matrix_ = nullptr;
    HYPRE_StructVector right_ = nullptr, solution_ = nullptr;
    HYPRE_StructSolver pfmg_ = nullptr, pcg_ = nullptr;
    Options best_{};
    double setup_ = 0, seconds_ = std::numeric_limits<double>::max();
};

/// FFTW's two-dimensional transforms of all planes, forward and back: to complex coefficients, or
/// real ones of the kinds `forward` and `back`.
class Transforms {
  public:
    explicit Transforms(int n)
        : real_(std::size_t(n) * n * n), complex_(std::size_t(n) * n * (n / 2 + 1)) {
        const int shape[] = {n, n};
        auto* coefficients = uzushio::linalg::fftw_cast(complex_.data());
        forward_.reset(fftw_plan_many_dft_r2c(2, shape, n, real_.data(), nullptr, 1, n * n,
                                              coefficients, nullptr, 1, n * (n / 2 + 1),
                                              FFTW_MEASURE));
        back_.reset(fftw_plan_many_dft_c2r(2, shape, n, coefficients, nullptr, 1, n * (n / 2 + 1),
                                           real_.data(), nullptr, 1, n * n, FFTW_MEASURE));
        clear();
    }
    Transforms(int n, fftw_r2r_kind forward, fftw_r2r_kind back) : real_(std::size_t(n) * n * n) {
        const int shape[] = {n, n};
        const auto plan = [&](fftw_r2r_kind kind) {
            const fftw_r2r_kind kinds[] = {kind, kind};
            return fftw_plan_many_r2r(2, shape, n, real_.data(), nullptr, 1, n * n, real_.data(),
                                      nullptr, 1, n * n, kinds, FFTW_MEASURE);
        };
        forward_.reset(plan(forward));
        back_.reset(plan(back));
        clear();
    }
    void operator()() {
        seconds_ = std::min(seconds_, seconds_of([&] {
                                fftw_execute(forward_.get());
                                fftw_execute(back_.get());
                            }));
        clear(); // values grow from one execution to the next
    }
    [[nodiscard]] double seconds() const { return seconds_; }

  private:
    void clear() {
        for (std::size_t i = 0; i < real_.size(); ++i)
            real_[i] = static_cast<double>(i % 7);
    }
    AlignedArray<double> real_;
    AlignedArray<uzushio::linalg::Complex> complex_;
    Plan forward_, back_;
    double seconds_ = std::numeric_limits<double>::max();
};

/// The complex FFTs that two axes of real cells need, there and back, all on one tile in cache:
/// eight at a time, whose real and imaginary parts are sixteen columns.
class CachedFfts {
  public:
    explicit CachedFfts(int n) : n_(n), tile_(std::size_t(n) * columns) {
        auto* tile = uzushio::linalg::fftw_cast(tile_.data());
        plan_.reset(fftw_plan_many_dft(1, &n_, columns, tile, nullptr, columns, 1, tile, nullptr,
                                       columns, 1, FFTW_FORWARD, FFTW_MEASURE));
    }
    void operator()() {
        std::fill_n(tile_.data(), tile_.size(), uzushio::linalg::Complex{});
        seconds_ = std::min(seconds_, seconds_of([&] {
                                for (int pass = 0; pass < 4; ++pass)
                                    for (int tile = 0; tile < n_ * n_ / (2 * columns); ++tile)
                                        fftw_execute(plan_.get());
                            }));
    }
    [[nodiscard]] double seconds() const { return seconds_; }

  private:
    static constexpr int columns = 8;
    int n_;
    AlignedArray<uzushio::linalg::Complex> tile_;
    Plan plan_;
    double seconds_ = std::numeric_limits<double>::max();
};

/// Sweeps of both colours in single precision.
class Smoother {
  public:
    explicit Smoother(const EllipticCase& c)
        : a_(MPI_COMM_WORLD, c.equation(1), traffic_, sections_), x_(a_.field()), f_(a_.field()) {}
    void operator()() {
        seconds_ = std::min(seconds_, seconds_of([&] {
                                a_.relax(x_, f_, 0, 1.15F);
                                a_.relax(x_, f_, 1, 1.15F);
                            }));
        ++sweeps_;
    }
    void write(Figures& figures, const std::string& name) const {
        double bytes = 0;
        for (const auto& section : sections_.sections())
            bytes += section.work.bytes / sweeps_;
        figures[name + ".seconds"] = seconds_;
        figures[name + ".bytes"] = bytes;
    }

  private:
    Traffic traffic_;
    SectionMonitor sections_;
    GridOperator<float> a_;
    Field<float> x_, f_;
    double seconds_ = std::numeric_limits<double>::max();
    int sweeps_ = 0;
};

void measure(int n, int repeats) {
    const EllipticCase walls = cube(n);
    EllipticCase channel = walls, varying = walls;
    channel.ends[0] = channel.ends[1] = {Condition::periodic, Condition::periodic};
    channel.ends[2] = {Condition::neumann, Condition::neumann};
    varying.b = [](std::size_t, const Index<3>& i) {
        return 5.5 + 4.5 * std::cos(0.1 * static_cast<double>(i[0] + i[1] + i[2]));
    };
    Ours fft("fft", walls), cg("cg", walls), multigrid("multigrid", walls), cg_b("cg", varying);
    Ours multigrid_b("multigrid", varying);
    Ours bicgstab("bicgstab", walls), fft_channel("fft", channel);
    Hypre hypre(walls);
    Transforms complex(n), cosine(n, FFTW_REDFT10, FFTW_REDFT01);
    CachedFfts cached(n);
    Smoother constant(walls), variable(varying), large(cube(2 * n));
    Triad triad;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        triad();
        for (Ours* solver : {&fft, &fft_channel, &cg, &multigrid, &bicgstab, &cg_b, &multigrid_b})
            (*solver)();
        hypre();
        complex();
        cosine();
        cached();
        for (Smoother* smoother : {&constant, &variable, &large})
            (*smoother)();
    }
    Figures figures;
    figures["triad"] = triad.rate();
    fft.write(figures, "fft");
    fft_channel.write(figures, "fft_channel");
    cg.write(figures, "cg");
    multigrid.write(figures, "multigrid");
    bicgstab.write(figures, "bicgstab");
    cg_b.write(figures, "cg_variable");
    multigrid_b.write(figures, "multigrid_variable");
    hypre.write(figures);
    figures["fftw.complex"] = complex.seconds();
    figures["fftw.cosine"] = cosine.seconds();
    figures["fftw.cached"] = cached.seconds();
    constant.write(figures, "smoother");
    variable.write(figures, "smoother_variable");
    large.write(figures, "smoother_large");
    std::cout << figures << std::endl;
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    measure(argc > 1 ? std::atoi(argv[1]) : 128, argc > 2 ? std::atoi(argv[2]) : 10);
    MPI_Finalize();
    return 0;
}
