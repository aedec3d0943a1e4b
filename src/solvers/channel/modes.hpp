#pragma once

#include <stdexcept>
#include <string>

namespace uzushio::channel {

/// Rule against aliasing errors of products of two fields.
enum class Dealiasing { three_halves, two_thirds, none };

/// Fourier modes that are kept of a periodic nx × ny plane, and the grid of products. The Nyquist
/// modes nx/2 and ny/2 have no derivative and are never kept.
struct Modes {
    int mx = 0; ///< points of the product grid in x
    int my = 0; ///< points of the product grid in y
    int kx = 0; ///< kept modes 0 … kx-1 in x (negative ones are conjugates: fields are real)
    int ky = 0; ///< kept modes 0 … ky-1 and -(ky-1) … -1 in y, in this order

    /// Return the number of kept modes along y.
    [[nodiscard]] int columns_y() const { return 2 * ky - 1; }
    /// Return the signed mode number of column `j` along y.
    [[nodiscard]] int wave_y(int j) const { return j < ky ? j : j - columns_y(); }
    /// Return the row of the product grid's transform that holds column `j` along y.
    [[nodiscard]] int row(int j) const { return j < ky ? j : my - columns_y() + j; }

    /// Return the modes of a grid. Throw `std::invalid_argument` unless nx and ny are even and at
    /// least 4.
    static Modes of(int nx, int ny, Dealiasing rule) {
        for (const int n : {nx, ny})
            if (n < 4 || n % 2 != 0)
                throw std::invalid_argument("a Fourier direction needs an even number of points, "
                                            "at least 4, not " +
                                            std::to_string(n));
        const auto kept = [&](int n) {
            return rule == Dealiasing::two_thirds ? (n - 1) / 3 + 1 : n / 2;
        };
        const auto grid = [&](int n) { return rule == Dealiasing::three_halves ? 3 * n / 2 : n; };
        return {grid(nx), grid(ny), kept(nx), kept(ny)};
    }
};

} // namespace uzushio::channel
