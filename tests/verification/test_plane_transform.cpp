// Transforms of planes that several ranks share, and the solve of a Poisson equation through them.
// ranks: 1 2 3 4 6
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "solvers/channel/plane_transform.hpp"
#include "solvers/channel/tridiagonal.hpp"
#include "solvers/channel/wall_grid.hpp"

namespace uzushio::channel {
namespace {

using parallel::Exchange;

int ranks() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/// Return a sum of a few waves, different in every plane.
double wave(double x, double y, int k) {
    return 1.5 + k + std::cos(2 * x + y + k) + 0.5 * std::sin(3 * x - 2 * y) +
           0.25 * std::cos(4 * y);
}

/// Transform of a test.
struct Variant {
    Dealiasing rule;
    Transposes transposes = Transposes::messages;
    SentPrecision precision = SentPrecision::full;
};

class Transform : public testing::TestWithParam<Variant> {
  protected:
    static constexpr int nx = 20, ny = 18, planes = 5;
    parallel::SectionMonitor sections_;
    parallel::Traffic traffic_;
    ProcessGrid grid_{MPI_COMM_WORLD, ranks(), 1};
    PlaneTransform transform_{grid_,
                              Modes::of(nx, ny, GetParam().rule),
                              2,
                              2,
                              sections_,
                              traffic_,
                              GetParam().precision,
                              GetParam().transposes};
    /// Error of a transform over that in double precision.
    const double rounding_ = GetParam().precision == SentPrecision::full ? 1 : 1e8;

    /// Transform to spectral space into `out`, two planes at a time, with a shorter last batch.
    void forward(const Planes& out) {
        const auto& modes = transform_.modes();
        const double scale = 1.0 / (modes.mx * modes.my);
        parallel::AlignedArray<double> row(static_cast<std::size_t>(modes.mx) + 2);
        for (int first = 0; first < planes; first += transform_.batch()) {
            const int count = std::min(transform_.batch(), planes - first);
            for (int b = 0; b < count; ++b)
                for (int r = 0; r < transform_.rows().size(); ++r) {
                    for (int i = 0; i < modes.mx; ++i)
                        row[static_cast<std::size_t>(i)] = wave(x(i), y(r), first + b);
                    transform_.to_spectral(0, count, b, r, row.data());
                }
            transform_.begin_forward(0, count);
            transform_.end_forward(0);
            for (int b = 0; b < count; ++b)
                for (int j = 0; j < modes.columns_y(); ++j)
                    for (int i = 0; i < transform_.waves().size(); ++i) {
                        const auto value = scale * transform_.column(0, b, j)[i];
                        out.re(first + b)[j * transform_.waves().size() + i] = value.real();
                        out.im(first + b)[j * transform_.waves().size() + i] = value.imag();
                    }
        }
    }

    [[nodiscard]] double x(int i) const { return 2 * std::numbers::pi * i / transform_.modes().mx; }
    [[nodiscard]] double y(int r) const {
        return 2 * std::numbers::pi * (transform_.rows().begin + r) / transform_.modes().my;
    }
};

TEST_P(Transform, WavesBecomeTheirAmplitudes) {
    Fields field(1, planes, transform_.local_modes());
    forward(field.view());
    const auto& modes = transform_.modes();
    for (int k = 0; k < planes; ++k)
        for (int j = 0; j < modes.columns_y(); ++j)
            for (int i = 0; i < transform_.waves().size(); ++i) {
                const int kx = transform_.waves().begin + i;
                const int ky = modes.wave_y(j);
                Complex expected = 0;
                if (kx == 0 && ky == 0)
                    expected = 1.5 + k;
                else if (kx == 2 && ky == 1)
                    expected = 0.5 * std::polar(1.0, static_cast<double>(k));
                else if (kx == 3 && ky == -2)
                    expected = Complex(0, -0.25);
                else if (kx == 0 && std::abs(ky) == 4)
                    expected = 0.125;
                const int m = j * transform_.waves().size() + i;
                ASSERT_NEAR(field.view().re(k)[m], expected.real(), 1e-14 * rounding_)
                    << kx << ' ' << ky;
                ASSERT_NEAR(field.view().im(k)[m], expected.imag(), 1e-14 * rounding_)
                    << kx << ' ' << ky;
            }
}

TEST_P(Transform, ForwardAndInverseReturnTheSameField) {
    Fields field(1, planes, transform_.local_modes());
    forward(field.view());
    parallel::AlignedArray<double> row(static_cast<std::size_t>(transform_.modes().mx) + 2);
    for (int first = 0; first < planes; first += transform_.batch()) {
        const int count = std::min(transform_.batch(), planes - first);
        transform_.begin_inverse(1, field.view(), first, count, {0, planes});
        transform_.end_inverse(1);
        for (int b = 0; b < count; ++b)
            for (int r = 0; r < transform_.rows().size(); ++r) {
                transform_.to_physical(1, b, r, row.data());
                for (int i = 0; i < transform_.modes().mx; ++i)
                    ASSERT_NEAR(row[static_cast<std::size_t>(i)], wave(x(i), y(r), first + b),
                                1e-13 * rounding_);
            }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Variants, Transform,
    testing::Values(Variant{Dealiasing::three_halves}, Variant{Dealiasing::two_thirds},
                    Variant{Dealiasing::none},
                    Variant{Dealiasing::three_halves, Transposes::messages, SentPrecision::single},
                    Variant{Dealiasing::three_halves, Transposes::shared_memory},
                    Variant{Dealiasing::none, Transposes::shared_memory, SentPrecision::single}));

TEST(PlaneTransform, RoundsValuesToSinglePrecisionOnAnyNumberOfRanks) {
    parallel::SectionMonitor sections;
    parallel::Traffic traffic;
    const ProcessGrid grid(MPI_COMM_WORLD, ranks(), 1);
    for (const auto transposes : {Transposes::messages, Transposes::shared_memory}) {
        PlaneTransform transform(grid, Modes::of(16, 12, Dealiasing::none), 1, 1, sections, traffic,
                                 SentPrecision::single, transposes);
        const int nx = transform.modes().mx;
        parallel::AlignedArray<double> row(static_cast<std::size_t>(nx));
        for (int r = 0; r < transform.rows().size(); ++r) {
            std::fill_n(row.data(), nx, 0.1); // its mean mode nx / 10 is no number of 24 bits
            transform.to_spectral(0, 1, 0, r, row.data());
        }
        transform.begin_forward(0, 1);
        transform.end_forward(0);
        const double rounded = static_cast<double>(static_cast<float>(0.1 * nx));
        ASSERT_NE(rounded, 0.1 * nx);
        if (transform.waves().begin > 0)
            continue;
        EXPECT_NEAR(transform.column(0, 0, 0)[0].real(), transform.modes().my * rounded, 1e-13);
    }
}

TEST(Modes, OddSizesAreRefusedAndKeptModesDoNotAlias) {
    EXPECT_THROW(static_cast<void>(Modes::of(9, 8, Dealiasing::none)), std::invalid_argument);
    for (int n = 4; n < 200; n += 2)
        for (const auto rule : {Dealiasing::three_halves, Dealiasing::two_thirds}) {
            const auto modes = Modes::of(n, n, rule);
            // A product of two modes, aliased by the grid, must not coincide with a kept mode.
            EXPECT_GT(modes.mx - 2 * (modes.kx - 1), modes.kx - 1) << n;
        }
}

/// Poisson's equation between walls, in physical space.
class Poisson : public testing::TestWithParam<std::string> {};

TEST_P(Poisson, NeedsTwoAllToAllsPerFieldPipelinedAndFourTransposed) {
    const int py = ranks() % 2 == 0 ? 2 : 1;
    const int pz = ranks() / py;
    const int nx = 12, ny = 16, nz = 24;
    const std::string scheme = GetParam();
    parallel::SectionMonitor sections;
    parallel::Traffic traffic;
    const ProcessGrid grid(MPI_COMM_WORLD, py, pz);
    std::vector<double> faces;
    for (int k = 0; k <= nz; ++k)
        faces.push_back(1.0 - std::cos(std::numbers::pi * (0.1 + 0.8 * k / nz)) /
                                  std::cos(0.1 * std::numbers::pi));
    const channel::WallGrid wall(faces);
    const auto planes = parallel::block(nz, pz, grid.column().rank());
    PlaneTransform transform(grid, Modes::of(nx, ny, Dealiasing::none), planes.size(), 1, sections,
                             traffic);
    const auto& modes = transform.modes();
    const int local = transform.local_modes();
    Fields phi(1, planes.size(), local), factors(1, planes.size(), local);
    auto solver = make_tridiagonal(scheme, {grid, nz, local, 1, 3, sections, traffic});

    // Given the discrete source of phi = cos(2 x + y) g(z): -k² g + D g with D as in the solver.
    const auto g = [&](int k) {
        return std::cos(std::numbers::pi * wall.centres()[static_cast<std::size_t>(k)] / 2);
    };
    const auto& rows = wall.pressure();
    const auto source = [&](int k) {
        const auto i = static_cast<std::size_t>(k);
        return rows.lower[i] * (k > 0 ? g(k - 1) : 0) + (rows.diagonal[i] - 5.0) * g(k) +
               rows.upper[i] * (k + 1 < nz ? g(k + 1) : 0);
    };
    const auto angle = [&](int r, int i) {
        return 2 * std::numbers::pi *
               (2.0 * i / nx + static_cast<double>(transform.rows().begin + r) / ny);
    };
    parallel::AlignedArray<double> row(nx);
    std::vector<double> shift;
    for (int j = 0; j < modes.columns_y(); ++j)
        for (int i = transform.waves().begin; i < transform.waves().end; ++i)
            shift.push_back(i == 0 && j == 0 ? 1.0 : i * i + modes.wave_y(j) * modes.wave_y(j));

    // When it is transformed, solved and transformed back, in the largest possible batches,
    const int batch = transform.batch();
    int batches = 0;
    for (int first = 0; first < planes.size(); first += batch, ++batches) {
        const int count = std::min(batch, planes.size() - first);
        for (int b = 0; b < count; ++b)
            for (int r = 0; r < transform.rows().size(); ++r) {
                for (int i = 0; i < nx; ++i)
                    row[static_cast<std::size_t>(i)] =
                        std::cos(angle(r, i)) * source(planes.begin + first + b);
                transform.to_spectral(0, count, b, r, row.data());
            }
        transform.begin_forward(0, count);
        transform.end_forward(0);
        for (int b = 0; b < count; ++b)
            for (int m = 0; m < local; ++m) {
                const int waves = transform.waves().size();
                const auto value = transform.column(0, b, m / waves)[m % waves] / (1.0 * nx * ny);
                phi.view().re(first + b)[m] = value.real();
                phi.view().im(first + b)[m] = value.imag();
            }
    }
    const SolveStage stages[] = {
        {{{&rows, shift.data(), {phi.view()}, factors.view()}}, {}, nullptr, nullptr}};
    solver->solve(stages);
    for (int first = 0; first < planes.size(); first += batch) {
        const int count = std::min(batch, planes.size() - first);
        transform.begin_inverse(0, phi.view(), first, count, {0, planes.size()});
        transform.end_inverse(0);
        for (int b = 0; b < count; ++b)
            for (int r = 0; r < transform.rows().size(); ++r) {
                transform.to_physical(0, b, r, row.data());
                // then phi is exact to rounding,
                for (int i = 0; i < nx; ++i)
                    ASSERT_NEAR(row[static_cast<std::size_t>(i)],
                                std::cos(angle(r, i)) * g(planes.begin + first + b), 1e-12);
            }
    }
    // with one all-to-all in y per direction, and two in z only for the transposed scheme.
    const auto& in_y = traffic[Exchange::transpose_xy];
    const auto& in_z = traffic[Exchange::transpose_z];
    const std::int64_t complex = sizeof(Complex);
    const std::int64_t rows_here = transform.rows().size();
    if (py > 1) {
        EXPECT_EQ(batches, 1)
            << "a batch holds the whole block, so that all-to-alls can be counted";
        EXPECT_EQ(in_y.exchanges, 2);
        EXPECT_EQ(in_y.bytes, complex * planes.size() *
                                  (transform.waves().size() * (ny - rows_here) +
                                   rows_here * (modes.kx - transform.waves().size())));
    } else {
        EXPECT_EQ(in_y.exchanges, 0);
    }
    if (pz > 1 && scheme == "transpose") {
        const std::int64_t columns = parallel::block(local, pz, grid.column().rank()).size();
        EXPECT_EQ(in_z.exchanges, 2);
        // The return all-to-all also transfers the plane above each block.
        EXPECT_EQ(in_z.bytes, complex * (planes.size() * (local - columns) +
                                         columns * (nz - planes.size() + pz - 1)));
    } else {
        EXPECT_EQ(in_z.exchanges, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Schemes, Poisson,
                         testing::Values("pipelined", "transpose", "partitioned"));

} // namespace
} // namespace uzushio::channel
