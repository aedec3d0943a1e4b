#include "pipeline/vertex_values.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace uzushio::pipeline {

namespace {

using Place = std::array<double, 3>;

Place cross(const Place& a, const Place& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

double dot(const Place& a, const Place& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Means of eight values and their differences along z, y and x; the index of a value has a bit for
/// each axis: 1 for x.
struct Differences {
    double mean, z, y, x;

    explicit Differences(const double* v)
        : mean((v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7]) / 8),
          z((v[4] + v[5] + v[6] + v[7] - v[0] - v[1] - v[2] - v[3]) / 4),
          y((v[2] + v[3] + v[6] + v[7] - v[0] - v[1] - v[4] - v[5]) / 4),
          x((v[1] + v[3] + v[5] + v[7] - v[0] - v[2] - v[4] - v[6]) / 4) {}
};

} // namespace

template <class T>
void interpolate_to_vertices(const FieldView<const T>& cells,
                             const FieldView<const double>& corners,
                             std::array<std::ptrdiff_t, 3> first, const FieldView<T>& out,
                             int threads) {
    const auto [nz, ny, nx] = cells.extents;
    const std::ptrdiff_t plane = corners.strides[0], row = corners.strides[1];
    // First of the two cells of a vertex; both are the same along an axis of one cell.
    const auto below = [](std::ptrdiff_t vertex, std::ptrdiff_t n) {
        return std::clamp<std::ptrdiff_t>(vertex - 1, 0, std::max<std::ptrdiff_t>(n - 2, 0));
    };
    const std::ptrdiff_t up_z = nz > 1, up_y = ny > 1, up_x = nx > 1;
#pragma omp parallel num_threads(threads > 0 ? threads : 1)
    {
        // Centres of the cells of four rows, times 8: components, then rows, then cells.
        std::vector<double> centres(static_cast<std::size_t>(12 * nx));
#pragma omp for collapse(2) schedule(static)
        for (std::ptrdiff_t k = 0; k < out.extents[0]; ++k)
            for (std::ptrdiff_t j = 0; j < out.extents[1]; ++j) {
                const auto z = below(first[0] + k, nz), y = below(first[1] + j, ny);
                const T* values[4];
                for (std::ptrdiff_t r = 0; r < 4; ++r) {
                    const auto cz = z + (r / 2) * up_z, cy = y + (r % 2) * up_y;
                    values[r] = cells.row(cz, cy);
                    const double* at = corners.row(cz, cy);
                    for (std::ptrdiff_t c = 0; c < 3; ++c) {
                        double* to = &centres[static_cast<std::size_t>((c * 4 + r) * nx)];
                        const double* from = at + c;
                        for (std::ptrdiff_t i = 0; i < nx; ++i) {
                            const double* v = from + 3 * i;
                            to[i] = (v[0] + v[3] + v[row] + v[row + 3] + v[plane] + v[plane + 3] +
                                     v[plane + row] + v[plane + row + 3]) /
                                    8;
                        }
                    }
                }
                T* to = out.row(k, j);
                const double* vertex = corners.row(first[0] + k, first[1] + j) + 3 * first[2];
                for (std::ptrdiff_t i = 0; i < out.extents[2]; ++i) {
                    const auto x = below(first[2] + i, nx);
                    double eight[8];
                    Place along_z, along_y, along_x, offset;
                    for (std::size_t c = 0; c < 3; ++c) {
                        for (std::size_t m = 0; m < 8; ++m)
                            eight[m] = centres[(c * 4 + m / 2) * static_cast<std::size_t>(nx) +
                                               static_cast<std::size_t>(x) +
                                               m % 2 * static_cast<std::size_t>(up_x)];
                        const Differences d(eight);
                        along_z[c] = d.z, along_y[c] = d.y, along_x[c] = d.x;
                        offset[c] = vertex[3 * i + static_cast<std::ptrdiff_t>(c)] - d.mean;
                    }
                    for (std::ptrdiff_t m = 0; m < 8; ++m)
                        eight[m] = static_cast<double>(
                            values[m / 2][(x + m % 2 * up_x) * cells.strides[2]]);
                    const Differences d(eight);
                    // The axis of a single cell has no derivative: any direction will do.
                    if (up_z == 0)
                        along_z = cross(along_x, along_y);
                    if (up_y == 0)
                        along_y = cross(along_z, along_x);
                    if (up_x == 0)
                        along_x = cross(along_y, along_z);
                    const Place yz = cross(along_y, along_z), zx = cross(along_z, along_x),
                                xy = cross(along_x, along_y);
                    const double volume = dot(along_x, yz);
                    const double change =
                        d.x * dot(offset, yz) + d.y * dot(offset, zx) + d.z * dot(offset, xy);
                    to[i * out.strides[2]] =
                        static_cast<T>(volume != 0 ? d.mean + change / volume : d.mean);
                }
            }
    }
}

template void interpolate_to_vertices<float>(const FieldView<const float>&,
                                             const FieldView<const double>&,
                                             std::array<std::ptrdiff_t, 3>, const FieldView<float>&,
                                             int);
template void interpolate_to_vertices<double>(const FieldView<const double>&,
                                              const FieldView<const double>&,
                                              std::array<std::ptrdiff_t, 3>,
                                              const FieldView<double>&, int);

} // namespace uzushio::pipeline
