#include "thermal/eddy_viscosity.hpp"

#include <cmath>

#include "thermal/rows.hpp"

namespace uzushio::thermal {

namespace {

using domain::Box;
using domain::Index;
using domain::View;
using Kind = SubgridModel::Kind;
using Widths = std::array<double, 3>;

// The eddy viscosity over the constant, squared but for Vreman's. D: dimension.

/// Return the square of the filter width.
template <std::size_t D> double filter(const Widths& widths) {
    if constexpr (D == 2)
        return widths[0] * widths[1];
    const double root = std::cbrt(widths[0] * widths[1] * widths[2]);
    return root * root;
}

template <std::size_t D> double strain_squared(const Gradient& g) {
    double sum = 0;
    for (std::size_t a = 0; a < D; ++a)
        for (std::size_t b = 0; b < D; ++b) {
            const double strain = 0.5 * (g[a][b] + g[b][a]);
            sum += strain * strain;
        }
    return sum;
}

template <std::size_t D> struct Smagorinsky {
    static double of(const Gradient& g) { return std::sqrt(2 * strain_squared<D>(g)); }
};

template <std::size_t D> struct Wale {
    static double of(const Gradient& g) {
        Gradient square{};
        double trace = 0;
        for (std::size_t a = 0; a < D; ++a)
            for (std::size_t b = 0; b < D; ++b) {
                for (std::size_t c = 0; c < D; ++c)
                    square[a][b] += g[a][c] * g[c][b];
                trace += a == b ? square[a][b] : 0;
            }
        // Symmetric part without trace, a tensor of three dimensions also in a flow of two.
        double sum = D == 2 ? trace * trace / 9 : 0;
        for (std::size_t a = 0; a < D; ++a)
            for (std::size_t b = 0; b < D; ++b) {
                const double part = 0.5 * (square[a][b] + square[b][a]) - (a == b ? trace / 3 : 0);
                sum += part * part;
            }
        const double strain = strain_squared<D>(g);
        const double below = strain * strain * std::sqrt(strain) + sum * std::sqrt(std::sqrt(sum));
        return below > 0 ? sum * std::sqrt(sum) / below : 0;
    }
};

/// Return Vreman's eddy viscosity over the constant.
template <std::size_t D> double vreman(const Gradient& g, const Widths& widths) {
    std::array<std::array<double, 3>, 3> beta{};
    double sum = 0;
    for (std::size_t a = 0; a < D; ++a)
        for (std::size_t b = 0; b < D; ++b) {
            for (std::size_t c = 0; c < D; ++c)
                beta[a][b] += widths[c] * widths[c] * g[a][c] * g[b][c];
            sum += g[a][b] * g[a][b];
        }
    double minors = beta[0][0] * beta[1][1] - beta[0][1] * beta[0][1];
    if constexpr (D == 3)
        minors += beta[0][0] * beta[2][2] - beta[0][2] * beta[0][2] + beta[1][1] * beta[2][2] -
                  beta[1][2] * beta[1][2];
    // Round-off may make minors negative.
    return minors > 0 && sum > 0 ? std::sqrt(minors / sum) : 0;
}

template <Kind kind, std::size_t D>
double viscosity_of(const Gradient& g, const Widths& widths, double factor) {
    if constexpr (kind == Kind::vreman)
        return factor * vreman<D>(g, widths);
    else if constexpr (kind == Kind::wale)
        return factor * filter<D>(widths) * Wale<D>::of(g);
    else
        return factor * filter<D>(widths) * Smagorinsky<D>::of(g);
}

/// Return the difference over a cell's width of a component along its own axis.
template <std::size_t A> double along(const RowMetrics& m, const RowPointer& u, std::int64_t n) {
    const double* here = u.value + n;
    return (here[u.stride[A]] - here[0]) * RowMetrics::at<A>(m.inverse_width, n);
}

/// Return the central difference along `B` of component `A` at the centre of a cell.
template <std::size_t A, std::size_t B>
double across(const RowMetrics& m, const RowPointer& u, std::int64_t n) {
    const double* here = u.value + n;
    const std::ptrdiff_t up = u.stride[A], beside = u.stride[B];
    const double distance = 1 / RowMetrics::at<B>(m.inverse_distance, n) +
                            1 / RowMetrics::at<B>(m.inverse_distance, n, 1);
    return 0.5 * (here[beside] + here[beside + up] - here[-beside] - here[up - beside]) / distance;
}

template <Kind kind, std::size_t D>
void row(const RowMetrics& metrics, const std::array<RowPointer, 3>& velocity, double factor,
         std::int64_t size, double* __restrict out) {
    const RowMetrics m = metrics;
    const RowPointer u = velocity[0], v = velocity[1], w = velocity[2];
#pragma omp simd
    for (std::int64_t n = 0; n < size; ++n) {
        Gradient g{};
        g[0][0] = along<0>(m, u, n);
        g[0][1] = across<0, 1>(m, u, n);
        g[1][0] = across<1, 0>(m, v, n);
        g[1][1] = along<1>(m, v, n);
        Widths widths{1 / RowMetrics::at<0>(m.inverse_width, n),
                      1 / RowMetrics::at<1>(m.inverse_width, n), 1};
        if constexpr (D == 3) {
            g[0][2] = across<0, 2>(m, u, n);
            g[1][2] = across<1, 2>(m, v, n);
            g[2][0] = across<2, 0>(m, w, n);
            g[2][1] = across<2, 1>(m, w, n);
            g[2][2] = along<2>(m, w, n);
            widths[2] = 1 / RowMetrics::at<2>(m.inverse_width, n);
        }
        out[n] = viscosity_of<kind, D>(g, widths, factor);
    }
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

double factor_of(const SubgridModel& model) {
    const double constant = constant_of(model);
    return model.kind == Kind::vreman ? constant : constant * constant;
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

double eddy_viscosity(const SubgridModel& model, const Gradient& gradient,
                      const domain::Vector& widths, int dimension) {
    return for_model(model.kind, dimension, [&]<Kind kind, std::size_t D>() {
        return viscosity_of<kind, D>(gradient, widths, factor_of(model));
    });
}

void set_eddy_viscosity(const FlowParameters& flow, const std::array<AxisMetrics, 3>& axes,
                        const FlowBlock& block, const Box<3>& cells,
                        const View<double>& viscosity) {
    for_model(flow.subgrid.kind, flow.dimension, [&]<Kind kind, std::size_t D>() {
        for (std::int64_t k = cells.lower[2]; k < cells.upper[2]; ++k)
            for (std::int64_t j = cells.lower[1]; j < cells.upper[1]; ++j) {
                const Index<3> first{cells.lower[0], j, k};
                std::array<RowPointer, 3> velocity;
                for (std::size_t a = 0; a < D; ++a)
                    velocity[a] = RowPointer(block.velocity[a], first);
                row<kind, D>(RowMetrics(axes, first), velocity, factor_of(flow.subgrid),
                             cells.extent(0), &viscosity(first));
            }
    });
}

} // namespace uzushio::thermal
