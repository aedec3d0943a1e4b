#include "pipeline/velocity_gradient.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pipeline/rows.hpp"

namespace uzushio::pipeline {

namespace {

/// Contiguous rows of the derivatives of one field by x, y, z.
template <class T> using DerivativeRows = std::array<T*, 3>;

/// Derivatives of the rows of one field by x, y, z.
template <class T> class RowDifferentiator {
  public:
    RowDifferentiator(const FieldView<const T>& field, const std::array<AxisStencil, 3>& stencils,
                      const RowStencil<T>& along_x, std::array<std::ptrdiff_t, 3> offset)
        : rows_(field), stencils_(stencils), along_x_(along_x), offset_(offset) {}

    /// Compute row (k, j) of the result.
    void operator()(std::ptrdiff_t k, std::ptrdiff_t j, const DerivativeRows<T>& out) {
        const auto n = stencils_[2].size();
        along_x_(rows_(k + offset_[0], j + offset_[1]), out[0]);
        for (const std::size_t axis : {1, 0}) {
            const auto& stencil = stencils_[axis];
            const auto i = axis == 0 ? k : j;
            const auto first = stencil.first[static_cast<std::size_t>(i)];
            T* row = out[2 - axis];
            if (stencil.width == 3 && rows_.field().strides[2] == 1) {
                const auto at = [&](std::ptrdiff_t m) {
                    return offset_[2] + (axis == 0 ? rows_(first + m, j + offset_[1])
                                                   : rows_(k + offset_[0], first + m));
                };
                const T *a = at(0), *b = at(1), *c = at(2);
                const T wa = static_cast<T>(stencil.weight(0, i)),
                        wb = static_cast<T>(stencil.weight(1, i)),
                        wc = static_cast<T>(stencil.weight(2, i));
                for (std::ptrdiff_t x = 0; x < n; ++x)
                    row[x] = wa * a[x] + wb * b[x] + wc * c[x];
                continue;
            }
            for (std::ptrdiff_t m = 0; m < stencil.width; ++m) {
                const T* values =
                    axis == 0 ? rows_(first + m, j + offset_[1]) : rows_(k + offset_[0], first + m);
                add_row(values + offset_[2], static_cast<T>(stencil.weight(m, i)), row, n, m == 0);
            }
        }
    }

  private:
    ContiguousRows<T> rows_;
    const std::array<AxisStencil, 3>& stencils_;
    const RowStencil<T>& along_x_;
    std::array<std::ptrdiff_t, 3> offset_;
};

/// Convert one row of derivatives by index to derivatives by coordinate: f_b = sum over a of f_a'
/// (J^-1)_ab with J_ab = d x_a / d index_b. `jacobian`: nine rows of J.
template <class T>
void to_coordinates(const T* const* jacobian, const DerivativeRows<T>& rows, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        const auto J = [&](int a, int b) { return jacobian[3 * a + b][i]; };
        const T c00 = J(1, 1) * J(2, 2) - J(1, 2) * J(2, 1);
        const T c01 = J(1, 2) * J(2, 0) - J(1, 0) * J(2, 2);
        const T c02 = J(1, 0) * J(2, 1) - J(1, 1) * J(2, 0);
        const T c10 = J(0, 2) * J(2, 1) - J(0, 1) * J(2, 2);
        const T c11 = J(0, 0) * J(2, 2) - J(0, 2) * J(2, 0);
        const T c12 = J(0, 1) * J(2, 0) - J(0, 0) * J(2, 1);
        const T c20 = J(0, 1) * J(1, 2) - J(0, 2) * J(1, 1);
        const T c21 = J(0, 2) * J(1, 0) - J(0, 0) * J(1, 2);
        const T c22 = J(0, 0) * J(1, 1) - J(0, 1) * J(1, 0);
        const T scale = T(1) / (J(0, 0) * c00 + J(0, 1) * c01 + J(0, 2) * c02);
        const T f0 = rows[0][i], f1 = rows[1][i], f2 = rows[2][i];
        rows[0][i] = scale * (c00 * f0 + c01 * f1 + c02 * f2);
        rows[1][i] = scale * (c10 * f0 + c11 * f1 + c12 * f2);
        rows[2][i] = scale * (c20 * f0 + c21 * f1 + c22 * f2);
    }
}

/// Return the middle eigenvalue of a symmetric matrix, in closed form and double precision.
double middle_eigenvalue(double xx, double yy, double zz, double xy, double xz, double yz) {
    const double mean = (xx + yy + zz) / 3.0;
    const double a = xx - mean, b = yy - mean, c = zz - mean;
    const double p2 = (a * a + b * b + c * c + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0;
    if (!(p2 > 0.0))
        return mean + p2; // all three are equal; NaN is kept
    const double p = std::sqrt(p2);
    const double determinant =
        a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz);
    const double angle = std::acos(std::clamp(determinant / (2.0 * p2 * p), -1.0, 1.0)) / 3.0;
    constexpr double third = 2.0 * std::numbers::pi / 3.0;
    return mean + 2.0 * p * std::cos(angle - third);
}

/// Compute one row of a quantity; A[3 a + b] is a row of d u_a / d x_b.
template <class T>
void compute_row(Quantity quantity, const std::array<T*, 9>& A, const std::array<T*, 3>& out,
                 std::ptrdiff_t n) {
    const T *ux = A[0], *uy = A[1], *uz = A[2], *vx = A[3], *vy = A[4], *vz = A[5], *wx = A[6],
            *wy = A[7], *wz = A[8];
    T *first = out[0], *second = out[1], *third = out[2];
    switch (quantity) {
    case Quantity::gradient:
        break; // the derivatives are the result
    case Quantity::divergence:
        for (std::ptrdiff_t i = 0; i < n; ++i)
            first[i] = ux[i] + vy[i] + wz[i];
        break;
    case Quantity::vorticity:
        for (std::ptrdiff_t i = 0; i < n; ++i) {
            first[i] = wy[i] - vz[i];
            second[i] = uz[i] - wx[i];
            third[i] = vx[i] - uy[i];
        }
        break;
    case Quantity::enstrophy:
        for (std::ptrdiff_t i = 0; i < n; ++i) {
            const T x = wy[i] - vz[i], y = uz[i] - wx[i], z = vx[i] - uy[i];
            first[i] = T(0.5) * (x * x + y * y + z * z);
        }
        break;
    case Quantity::strain_rate:
        for (std::ptrdiff_t i = 0; i < n; ++i) {
            const T xy = uy[i] + vx[i], xz = uz[i] + wx[i], yz = vz[i] + wy[i];
            first[i] = std::sqrt(T(2) * (ux[i] * ux[i] + vy[i] * vy[i] + wz[i] * wz[i]) + xy * xy +
                                 xz * xz + yz * yz);
        }
        break;
    case Quantity::q_criterion:
        for (std::ptrdiff_t i = 0; i < n; ++i)
            first[i] = T(-0.5) * (ux[i] * ux[i] + vy[i] * vy[i] + wz[i] * wz[i]) - uy[i] * vx[i] -
                       uz[i] * wx[i] - vz[i] * wy[i];
        break;
    case Quantity::lambda2:
        for (std::ptrdiff_t i = 0; i < n; ++i) {
            // S S + W W = (A A + (A A)^T) / 2.
            const double a[3][3] = {
                {ux[i], uy[i], uz[i]}, {vx[i], vy[i], vz[i]}, {wx[i], wy[i], wz[i]}};
            const auto square = [&](int r, int c) {
                return a[r][0] * a[0][c] + a[r][1] * a[1][c] + a[r][2] * a[2][c];
            };
            const auto mean = [&](int r, int c) { return 0.5 * (square(r, c) + square(c, r)); };
            first[i] = static_cast<T>(middle_eigenvalue(square(0, 0), square(1, 1), square(2, 2),
                                                        mean(0, 1), mean(0, 2), mean(1, 2)));
        }
        break;
    }
}

} // namespace

template <class T>
void differentiate(Quantity quantity, std::span<const FieldView<const T>> fields,
                   const std::array<AxisStencil, 3>& derivatives,
                   std::array<std::ptrdiff_t, 3> offset, std::span<const FieldView<T>> out,
                   std::span<const FieldView<const T>> jacobian, int threads) {
    if (fields.size() != (quantity == Quantity::gradient ? 1 : 3))
        throw std::invalid_argument("pipeline: a gradient is of one field, other quantities of the "
                                    "three components of a velocity");
    if (out.size() != components(quantity))
        throw std::invalid_argument("pipeline: the result needs one array for each component");
    const auto extents = out[0].extents;
    for (const auto& field : fields)
        for (std::size_t d = 0; d < 3; ++d) {
            require_inside(derivatives[d], field.extents[d]);
            if (derivatives[d].size() != extents[d] || offset[d] < 0 ||
                offset[d] + extents[d] > field.extents[d])
                throw std::invalid_argument("pipeline: the result does not fit the fields");
        }
    for (const auto& field : jacobian)
        if (jacobian.size() != 3 || field.extents != fields[0].extents)
            throw std::invalid_argument("pipeline: the coordinates do not fit the fields");
    const auto n = extents[2];
    const RowStencil<T> along_x(derivatives[2]);
#pragma omp parallel num_threads(threads > 0 ? threads : omp_get_max_threads())
    {
        std::vector<RowDifferentiator<T>> differentiators, mesh;
        for (const auto& field : fields)
            differentiators.emplace_back(field, derivatives, along_x, offset);
        for (const auto& field : jacobian)
            mesh.emplace_back(field, derivatives, along_x, offset);
        // Rows of derivatives, of those of the mesh, and of results that are not contiguous.
        std::vector<T> memory(static_cast<std::size_t>(21 * n));
        std::array<T*, 9> A{}, J{};
        for (std::size_t r = 0; r < 9; ++r) {
            A[r] = memory.data() + static_cast<std::ptrdiff_t>(r) * n;
            J[r] = memory.data() + static_cast<std::ptrdiff_t>(9 + r) * n;
        }
#pragma omp for collapse(2) schedule(static)
        for (std::ptrdiff_t k = 0; k < extents[0]; ++k) {
            for (std::ptrdiff_t j = 0; j < extents[1]; ++j) {
                std::array<T*, 3> results{};
                for (std::size_t c = 0; c < out.size(); ++c)
                    results[c] = out[c].strides[2] == 1
                                     ? out[c].row(k, j)
                                     : memory.data() + static_cast<std::ptrdiff_t>(18 + c) * n;
                if (quantity == Quantity::gradient) // its derivatives need no copy
                    std::copy(results.begin(), results.end(), A.begin());
                for (std::size_t a = 0; a < mesh.size(); ++a)
                    mesh[a](k, j, {J[3 * a], J[3 * a + 1], J[3 * a + 2]});
                for (std::size_t a = 0; a < differentiators.size(); ++a) {
                    const DerivativeRows<T> rows{A[3 * a], A[3 * a + 1], A[3 * a + 2]};
                    differentiators[a](k, j, rows);
                    if (!mesh.empty())
                        to_coordinates<T>(J.data(), rows, n);
                }
                compute_row(quantity, A, results, n);
                for (std::size_t c = 0; c < out.size(); ++c)
                    if (out[c].strides[2] != 1)
                        for (std::ptrdiff_t i = 0; i < n; ++i)
                            out[c].row(k, j)[i * out[c].strides[2]] = results[c][i];
            }
        }
    }
}

template void differentiate(Quantity, std::span<const FieldView<const float>>,
                            const std::array<AxisStencil, 3>&, std::array<std::ptrdiff_t, 3>,
                            std::span<const FieldView<float>>,
                            std::span<const FieldView<const float>>, int);
template void differentiate(Quantity, std::span<const FieldView<const double>>,
                            const std::array<AxisStencil, 3>&, std::array<std::ptrdiff_t, 3>,
                            std::span<const FieldView<double>>,
                            std::span<const FieldView<const double>>, int);

} // namespace uzushio::pipeline
