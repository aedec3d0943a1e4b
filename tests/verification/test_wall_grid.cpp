#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "solvers/channel/parameters.hpp"
#include "solvers/channel/wall_grid.hpp"

namespace uzushio::channel {
namespace {

std::vector<double> tanh_faces(int n) {
    std::vector<double> faces;
    for (int k = 0; k <= n; ++k)
        faces.push_back(1.0 + std::tanh(1.8 * (2.0 * k / n - 1.0)) / std::tanh(1.8));
    return faces;
}

/// Return the maximum error of the second difference of sin(pi z / 2) outside the cells at walls.
double error_of_second_difference(int n, bool at_faces) {
    const WallGrid grid(tanh_faces(n));
    const auto& rows = at_faces ? grid.at_faces() : grid.at_centres();
    const auto at = [&](int k) {
        const auto i = static_cast<std::size_t>(k);
        return at_faces ? grid.faces()[i + 1] : grid.centres()[i];
    };
    const double wave = std::numbers::pi / 2;
    double worst = 0;
    for (int k = 1; k + 2 < n; ++k) {
        const auto i = static_cast<std::size_t>(k);
        const double difference = rows.lower[i] * std::sin(wave * at(k - 1)) +
                                  rows.diagonal[i] * std::sin(wave * at(k)) +
                                  rows.upper[i] * std::sin(wave * at(k + 1));
        worst = std::max(worst, std::fabs(difference + wave * wave * std::sin(wave * at(k))));
    }
    return worst;
}

TEST(WallGrid, SecondDifferencesConvergeAtSecondOrderOnASmoothlyStretchedGrid) {
    for (const bool at_faces : {false, true}) {
        const double ratio =
            error_of_second_difference(32, at_faces) / error_of_second_difference(64, at_faces);
        EXPECT_NEAR(std::log2(ratio), 2.0, 0.15) << (at_faces ? "faces" : "centres");
    }
}

TEST(WallGrid, DistancesAndHeightsFillTheChannel) {
    const WallGrid grid(tanh_faces(33));
    double heights = 0;
    double distances = grid.distance(-1);
    for (int k = 0; k < grid.cells(); ++k) {
        heights += grid.height(k);
        distances += grid.distance(k);
    }
    EXPECT_NEAR(heights, 2.0, 1e-14);
    EXPECT_NEAR(distances, 2.0, 1e-14);
}

TEST(WallGrid, PressureRowsMapAConstantToZero) {
    const WallGrid grid(tanh_faces(24));
    const auto& rows = grid.pressure();
    for (std::size_t k = 0; k < rows.diagonal.size(); ++k)
        EXPECT_NEAR(rows.lower[k] + rows.diagonal[k] + rows.upper[k], 0.0,
                    1e-12 * std::fabs(rows.diagonal[k]));
}

TEST(WallGrid, ACellWithoutHeightIsNamed) {
    Parameters p;
    p.nx = p.ny = 8;
    p.lx = p.ly = p.viscosity = 1;
    p.faces = {0.0, 0.5, 0.5, 2.0};
    try {
        check(p);
        FAIL() << "a cell of zero height was taken";
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("cell 1"), std::string::npos) << error.what();
    }
}

TEST(WallGrid, MessagesThatMpiCannotCountAreRefused) {
    Parameters p;
    p.nx = 16384;
    p.ny = 9216;
    p.lx = p.ly = p.viscosity = 1;
    p.faces = {0.0, 0.5, 1.0, 1.5, 2.0};
    p.pz = 2;
    EXPECT_NO_THROW(check(p));
    p.scheme = "partitioned";
    EXPECT_THROW(check(p), std::invalid_argument);
    p.pz = 4; // as many modes on a rank
    EXPECT_THROW(check(p), std::invalid_argument);
    p.py = 2;
    EXPECT_NO_THROW(check(p));
}

} // namespace
} // namespace uzushio::channel
