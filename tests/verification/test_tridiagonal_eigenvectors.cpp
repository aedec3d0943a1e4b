#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>

#include "linalg/tridiagonal_eigenvectors.hpp"

namespace uzushio::linalg {
namespace {

TEST(TridiagonalEigenvectors, AreThoseOfTheSecondDifference) {
    constexpr std::size_t n = 40;
    const Eigenvectors found =
        eigenvectors_of(std::vector<double>(n, -2), std::vector<double>(n - 1, 1));
    for (std::size_t m = 0; m < n; ++m) {
        const double angle = std::numbers::pi * static_cast<double>(m + 1) / (n + 1);
        EXPECT_NEAR(found.values[m], 2 * std::cos(angle) - 2, 1e-14);
        const double sign = found.vectors[m * n] > 0 ? 1 : -1;
        for (std::size_t i = 0; i < n; ++i)
            EXPECT_NEAR(sign * found.vectors[m * n + i],
                        std::sqrt(2.0 / (n + 1)) * std::sin(angle * static_cast<double>(i + 1)),
                        1e-13);
    }
}

TEST(TridiagonalEigenvectors, DiagonaliseAnyMatrix) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (const std::size_t n : {1UL, 2UL, 3UL, 50UL}) {
        std::vector<double> diagonal(n), beside(n - 1);
        for (double& value : diagonal)
            value = std::pow(10, 3 * uniform(random));
        for (double& value : beside)
            value = uniform(random);
        if (n == 50)
            beside[20] = 0; // two blocks
        const Eigenvectors found = eigenvectors_of(diagonal, beside);
        for (std::size_t one = 0; one < n; ++one) {
            const double* v = &found.vectors[one * n];
            if (one > 0) {
                EXPECT_LE(found.values[one], found.values[one - 1]);
            }
            for (std::size_t other = 0; other <= one; ++other) {
                double dot = 0;
                for (std::size_t i = 0; i < n; ++i)
                    dot += v[i] * found.vectors[other * n + i];
                EXPECT_NEAR(dot, one == other ? 1 : 0, 1e-13);
            }
            for (std::size_t i = 0; i < n; ++i) {
                double row = diagonal[i] * v[i];
                row += i > 0 ? beside[i - 1] * v[i - 1] : 0;
                row += i + 1 < n ? beside[i] * v[i + 1] : 0;
                EXPECT_NEAR(row, found.values[one] * v[i], 1e-11);
            }
        }
    }
}

TEST(TridiagonalEigenvectors, OfEntriesThatAreNotFiniteAreAnError) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(static_cast<void>(eigenvectors_of({1, nan, 2}, {1, 1})), std::runtime_error);
}

} // namespace
} // namespace uzushio::linalg
