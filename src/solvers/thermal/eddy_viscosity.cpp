#include "solvers/thermal/eddy_viscosity.hpp"

#include <cmath>
#include <vector>

#include "solvers/thermal/rows.hpp"

namespace uzushio::thermal {

namespace {

using Kind = SubgridModel::Kind;
using Widths = std::array<double, 3>;

// Written out, because GCC does not vectorise loops over components. In two dimensions the third
// components are 0.

/// Return the square of the rate of strain, S:S.
UZUSHIO_INLINE double strain_squared(const Gradient& g) {
    const double xy = g[0][1] + g[1][0], xz = g[0][2] + g[2][0], yz = g[1][2] + g[2][1];
    return g[0][0] * g[0][0] + g[1][1] * g[1][1] + g[2][2] * g[2][2] +
           0.5 * (xy * xy + xz * xz + yz * yz);
}

/// Return the eddy viscosity of WALE over the squares of constant and filter width.
UZUSHIO_INLINE double wale(const Gradient& g) {
    // Symmetric part of the square of the gradient, without its trace: Sd.
    const double xy_yx = g[0][1] * g[1][0], xz_zx = g[0][2] * g[2][0], yz_zy = g[1][2] * g[2][1];
    const double xx = g[0][0] * g[0][0] + xy_yx + xz_zx;
    const double yy = g[1][1] * g[1][1] + xy_yx + yz_zy;
    const double zz = g[2][2] * g[2][2] + xz_zx + yz_zy;
    const double xy =
        0.5 * ((g[0][1] + g[1][0]) * (g[0][0] + g[1][1]) + g[0][2] * g[2][1] + g[1][2] * g[2][0]);
    const double xz =
        0.5 * ((g[0][2] + g[2][0]) * (g[0][0] + g[2][2]) + g[0][1] * g[1][2] + g[2][1] * g[1][0]);
    const double yz =
        0.5 * ((g[1][2] + g[2][1]) * (g[1][1] + g[2][2]) + g[1][0] * g[0][2] + g[2][0] * g[0][1]);
    const double third = (xx + yy + zz) / 3;
    const double a = xx - third, b = yy - third, c = zz - third;
    const double sum = a * a + b * b + c * c + 2 * (xy * xy + xz * xz + yz * yz);
    const double strain = strain_squared(g), root = std::sqrt(sum);
    const double below = strain * strain * std::sqrt(strain) + sum * std::sqrt(root);
    return below > 0 ? sum * root / below : 0;
}

/// Return the eddy viscosity of Vreman's model over the constant.
UZUSHIO_INLINE double vreman(const Gradient& g, const Widths& widths) {
    const double x = widths[0] * widths[0], y = widths[1] * widths[1], z = widths[2] * widths[2];
    const auto beta = [=](const std::array<double, 3>& a, const std::array<double, 3>& b) {
        return x * a[0] * b[0] + y * a[1] * b[1] + z * a[2] * b[2];
    };
    const double xx = beta(g[0], g[0]), yy = beta(g[1], g[1]), zz = beta(g[2], g[2]);
    const double xy = beta(g[0], g[1]), xz = beta(g[0], g[2]), yz = beta(g[1], g[2]);
    const double minors = xx * yy - xy * xy + xx * zz - xz * xz + yy * zz - yz * yz;
    const double sum = g[0][0] * g[0][0] + g[0][1] * g[0][1] + g[0][2] * g[0][2] +
                       g[1][0] * g[1][0] + g[1][1] * g[1][1] + g[1][2] * g[1][2] +
                       g[2][0] * g[2][0] + g[2][1] * g[2][1] + g[2][2] * g[2][2];
    // Round-off may make minors negative.
    return minors > 0 && sum > 0 ? std::sqrt(minors / sum) : 0;
}

/// Return the eddy viscosity; `filter` is the square of the filter width times the constant's.
template <Kind kind>
UZUSHIO_INLINE double viscosity_of(const Gradient& g, const Widths& widths, double constant,
                                   double filter) {
    if constexpr (kind == Kind::vreman)
        return constant * vreman(g, widths);
    else if constexpr (kind == Kind::wale)
        return filter * wale(g);
    else
        return filter * std::sqrt(2 * strain_squared(g));
}

/// Return the share of an axis in the square of the filter width: the product over the axes is that
/// square.
double share(double width, int dimension) {
    return dimension == 2 ? width : std::pow(width, 2.0 / 3);
}

/// Return the difference over a cell's width of the component along `A`.
template <std::size_t A>
UZUSHIO_INLINE double along(const RowMetrics& m, const double* here, std::ptrdiff_t up,
                            std::int64_t n) {
    return (here[up] - here[0]) * RowMetrics::at<A>(m.inverse_width, n);
}

/// Return the central difference along `B` of a component, at the centre of a cell between the
/// faces at distances 0 and `up`.
template <std::size_t B>
UZUSHIO_INLINE double across(const RowMetrics& m, const double* here, std::ptrdiff_t up,
                             std::ptrdiff_t beside, std::int64_t n) {
    const double distance = 1 / RowMetrics::at<B>(m.inverse_distance, n) +
                            1 / RowMetrics::at<B>(m.inverse_distance, n, 1);
    return 0.5 * (here[beside] + here[beside + up] - here[-beside] - here[up - beside]) / distance;
}

/// Pointer to the lower face of a cell in the array of a component, and distances of neighbours.
struct Faces {
    const double* value = nullptr;
    std::ptrdiff_t i = 0, j = 0, k = 0;
};

/// Return the eddy viscosity in cell `n` of a row.
template <Kind kind, std::size_t D>
UZUSHIO_INLINE double in_cell(const RowMetrics& m, Faces u, Faces v, Faces w, double constant,
                              double filter, std::int64_t n) {
    Gradient g{};
    g[0][0] = along<0>(m, u.value, u.i, n);
    g[0][1] = across<1>(m, u.value, u.i, u.j, n);
    g[1][0] = across<0>(m, v.value, v.j, v.i, n);
    g[1][1] = along<1>(m, v.value, v.j, n);
    Widths widths{1 / RowMetrics::at<0>(m.inverse_width, n),
                  1 / RowMetrics::at<1>(m.inverse_width, n), 0};
    if constexpr (D == 3) {
        g[0][2] = across<2>(m, u.value, u.i, u.k, n);
        g[1][2] = across<2>(m, v.value, v.j, v.k, n);
        g[2][0] = across<0>(m, w.value, w.k, w.i, n);
        g[2][1] = across<1>(m, w.value, w.k, w.j, n);
        g[2][2] = along<2>(m, w.value, w.k, n);
        widths[2] = 1 / RowMetrics::at<2>(m.inverse_width, n);
    }
    return viscosity_of<kind>(g, widths, constant, filter);
}

template <Kind kind, std::size_t D>
void row(const RowMetrics& metrics, const std::array<RowPointer, 3>& velocity, double constant,
         const double* __restrict shares, double filter, std::int64_t size,
         double* __restrict out) {
    const RowMetrics m = metrics;
    const double* __restrict u = velocity[0].value;
    const double* __restrict v = velocity[1].value;
    const double* __restrict w = velocity[2].value;
    const auto [u_i, u_j, u_k] = velocity[0].stride;
    const auto [v_i, v_j, v_k] = velocity[1].stride;
    const auto [w_i, w_j, w_k] = velocity[2].stride;
#pragma omp simd
    for (std::int64_t n = 0; n < size; ++n)
        out[n] = in_cell<kind, D>(m, {u + n, u_i, u_j, u_k}, {v + n, v_i, v_j, v_k},
                                  {w + n, w_i, w_j, w_k}, constant, shares[n] * filter, n);
}

/// Call `visit<kind, D>()` for a model and a dimension.
template <class Visit> auto for_model(Kind kind, int dimension, const Visit& visit) {
    const bool flat = dimension == 2;
    switch (kind) {
    case Kind::wale:
        return flat ? visit.template operator()<Kind::wale, 2>()
                    : visit.template operator()<Kind::wale, 3>();
    case Kind::vreman:
        return flat ? visit.template operator()<Kind::vreman, 2>()
                    : visit.template operator()<Kind::vreman, 3>();
    default:
        return flat ? visit.template operator()<Kind::smagorinsky, 2>()
                    : visit.template operator()<Kind::smagorinsky, 3>();
    }
}

} // namespace

double constant_of(const SubgridModel& model) {
    if (model.constant)
        return *model.constant;
    switch (model.kind) {
    case Kind::smagorinsky:
        return 0.17;
    case Kind::wale:
        return 0.325;
    case Kind::vreman:
        return 0.07;
    default:
        return 0;
    }
}

double eddy_viscosity(const SubgridModel& model, const Gradient& gradient, const Vector& widths,
                      int dimension) {
    return for_model(model.kind, dimension, [&]<Kind kind, std::size_t D>() {
        const double constant = constant_of(model);
        double filter = constant * constant;
        for (std::size_t a = 0; a < D; ++a)
            filter *= share(widths[a], dimension);
        return viscosity_of<kind>(gradient, widths, constant, filter);
    });
}

void set_eddy_viscosity(const FlowParameters& flow, const domain::Grid& grid,
                        const FlowBlock& block, const Box<3>& cells,
                        const View<double>& viscosity) {
    const double constant = constant_of(flow.subgrid);
    std::vector<double> shares;
    for (std::int64_t i = cells.lower[0]; i < cells.upper[0]; ++i)
        shares.push_back(share(grid[0].width()[i], flow.dimension));
    for_model(flow.subgrid.kind, flow.dimension, [&]<Kind kind, std::size_t D>() {
        for_rows(cells, [&](const Index<3>& first, std::int64_t size) {
            std::array<RowPointer, 3> velocity;
            for (std::size_t a = 0; a < D; ++a)
                velocity[a] = RowPointer(block.velocity[a], first);
            double filter = constant * constant;
            for (std::size_t a = 1; a < D; ++a)
                filter *= share(grid[a].width()[first[a]], flow.dimension);
            row<kind, D>(RowMetrics(grid, first), velocity, constant, shares.data(), filter, size,
                         &viscosity(first));
        });
    });
}

} // namespace uzushio::thermal
