#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "stencil/row.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::test {

/// Field on the whole domain, stored on every rank.
struct Grid {
    Grid(int width, int height)
        : nx(width), ny(height),
          values(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {}

    double& at(int x, int y) { return values[index(x, y)]; }
    [[nodiscard]] double at(int x, int y) const { return values[index(x, y)]; }
    /// Return the value at unwrapped indices, up to one period beyond an edge.
    [[nodiscard]] double wrapped(int x, int y) const { return at((x + nx) % nx, (y + ny) % ny); }

    int nx, ny;
    std::vector<double> values;

  private:
    [[nodiscard]] std::size_t index(int x, int y) const {
        return static_cast<std::size_t>(y) * static_cast<std::size_t>(nx) +
               static_cast<std::size_t>(x);
    }
};

/// The heat equation: u' = u + number * (sum of the neighbours - 4 u).
struct Heat {
    double number = 0.2;

    void row(int /*step*/, const stencil::StencilRow& row) const {
        const double* const below = row.below;
        const double* const here = row.here;
        const double* const above = row.above;
        double* const out = row.out;
#pragma omp simd
        for (int x = row.x_begin; x < row.x_end; ++x)
            out[x] = here[x] +
                     number * (below[x] + above[x] + (here[x - 1] + here[x + 1]) - 4.0 * here[x]);
    }
};

/// Model with the interface for groups of rows.
template <class Model> struct Grouped {
    Model model;

    void rows(int step, const stencil::RowGroup& rows) const {
        rows.each([&](const stencil::StencilRow& row) { model.row(step, row); });
    }
};

/// Phase field with coefficients that vary from point to point and from step to step, so that a
/// misplaced row changes the result; its products can be contracted by the compiler.
struct Growth {
    const Grid* speed = nullptr;
    double dt = 0.1;

    void row(int step, const stencil::StencilRow& row) const {
        const int nx = speed->nx;
        const double m = 0.3 + 0.01 * (step % 7);
        const int y = (row.y + speed->ny) % speed->ny;
        // A periodic row has at most three pieces.
        for (int x = row.x_begin; x < row.x_end;) {
            const int period = x < 0 ? -nx : x >= nx ? nx : 0;
            const int end = std::min(row.x_end, period + nx);
            piece(row,
                  &speed->values[static_cast<std::size_t>(y) * static_cast<std::size_t>(nx)] -
                      period,
                  m, x, end);
            x = end;
        }
    }

  private:
    void piece(const stencil::StencilRow& row, const double* v, double m, int begin,
               int end) const {
        const double* const below = row.below;
        const double* const here = row.here;
        const double* const above = row.above;
        double* const out = row.out;
#pragma omp simd
        for (int x = begin; x < end; ++x) {
            const double u = here[x];
            const double laplacian = below[x] + above[x] + (here[x - 1] + here[x + 1]) - 4.0 * u;
            out[x] = u + dt * (v[x] * laplacian + u * (1.0 - u) * (u - 0.5 + m));
        }
    }
};

/// Advance the whole domain by full rows on one rank, without a plan.
template <class Kernel>
Grid step_serially(const Grid& start, bool periodic_x, bool periodic_y, int first, int last,
                   Kernel& kernel) {
    const int nx = start.nx, ny = start.ny;
    const auto stride = static_cast<std::size_t>(nx + 2);
    std::vector<double> now(stride * static_cast<std::size_t>(ny)), next(now);
    const auto row = [&](std::vector<double>& of, int y) {
        return of.data() + static_cast<std::size_t>(y) * stride + 1;
    };
    for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x)
            row(now, y)[x] = start.at(x, y);
    const int direction = last < first ? -1 : 1;
    for (int step = first; step != last; step += direction) {
        for (int y = 0; y < ny; ++y) {
            row(now, y)[-1] = row(now, y)[periodic_x ? nx - 1 : 0];
            row(now, y)[nx] = row(now, y)[periodic_x ? 0 : nx - 1];
        }
        for (int y = 0; y < ny; ++y) {
            const int below = y > 0 ? y - 1 : periodic_y ? ny - 1 : 0;
            const int above = y < ny - 1 ? y + 1 : periodic_y ? 0 : ny - 1;
            kernel.row(step, stencil::StencilRow{y, 0, nx, row(now, below), row(now, y),
                                                 row(now, above), row(next, y), 0, nx, 0});
        }
        now.swap(next);
    }
    Grid end(nx, ny);
    for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x)
            end.at(x, y) = row(now, y)[x];
    return end;
}

} // namespace uzushio::test
