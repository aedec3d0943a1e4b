#include "thermal/surface_scalars.hpp"

#include <algorithm>
#include <cmath>

#include "thermal/fluxes.hpp"

namespace uzushio::thermal {

using domain::Box;
using domain::Index;
using domain::View;
using Kind = BodyCondition::Kind;

namespace {

/// Gradients of a scalar at the surfaces near a cell, along the direction from the cell.
struct Near {
    Near(const View<const double>& scalar, const std::array<AxisMetrics, 3>& metrics,
         std::size_t dimensions, const CutPoint& point)
        : dimension(dimensions), metrics_(metrics), point_(point),
          here_(scalar.data() + scalar.offset(point.at)), stride_(scalar.strides()) {
        for (std::size_t a = 0; a < dimension; ++a)
            slopes_[a] = slope(a);
    }
    /// Return the distance of the neighbour.
    [[nodiscard]] double length(std::size_t a, int step) const {
        return 1 / metrics_[a].inverse_distance()[point_.at[a] + (step > 0 ? 1 : 0)];
    }
    /// Return the part along `step` of the gradient along the surface, which is that in the cell.
    [[nodiscard]] double tangential(std::size_t a, int step) const {
        const domain::Vector& normal = cut(a, step).normal;
        double along_normal = 0;
        for (std::size_t t = 0; t < dimension; ++t)
            along_normal += slopes_[t] * normal[t];
        return step * slopes_[a] - std::abs(normal[a]) * along_normal;
    }
    /// Return the part along `step` of the gradient across the surface, on this side, where
    /// `conductivity` is that beyond it over that on this side: the flux across it is continuous,
    /// and so is the gradient along it.
    [[nodiscard]] double across(std::size_t a, int step, double conductivity) const {
        const double distance = cut(a, step).distance;
        const double difference = here_[step * stride_[a]] - here_[0];
        return (difference - length(a, step) * tangential(a, step)) /
               (distance + (length(a, step) - distance) / conductivity);
    }
    /// Return the gradient along `step` at the side of the cell, linear between that at the surface
    /// and that at the opposite side.
    [[nodiscard]] double at_side(std::size_t a, int step, double at_surface) const {
        if (cut(a, -step).link == 1)
            return at_surface;
        const double behind = length(a, -step);
        const double opposite = (here_[0] - here_[-step * stride_[a]]) / behind;
        return opposite + (at_surface - opposite) * 0.5 * (length(a, step) + behind) /
                              (cut(a, step).distance + 0.5 * behind);
    }
    std::size_t dimension;

  private:
    [[nodiscard]] const CutSide& cut(std::size_t a, int step) const {
        return point_.sides[a][step > 0 ? 1 : 0];
    }
    /// Return the mean of the differences to the neighbours along an axis that no surface hides; 0
    /// if there are none.
    [[nodiscard]] double slope(std::size_t a) const {
        double sum = 0;
        int count = 0;
        for (const int step : {-1, 1})
            if (cut(a, step).link != 1) {
                sum += step * (here_[step * stride_[a]] - here_[0]) / length(a, step);
                ++count;
            }
        return count == 0 ? 0 : sum / count;
    }
    const std::array<AxisMetrics, 3>& metrics_;
    const CutPoint& point_;
    const double* here_;
    Index<3> stride_;
    std::array<double, 3> slopes_{};
};

/// Return the sum of diffusion, and for a fluid cell less advection, along axis `A` of a line of
/// values around a cell.
template <class Advected, std::size_t A>
void correct_along(const std::array<AxisMetrics, 3>& metrics, const FlowBlock& block,
                   const View<const double>& scalar, double diffusivity, const Index<3>& at,
                   const double* middle, double& derivative) {
    const RowMetrics m(metrics, at);
    const RowPointer s(scalar, at), u(block.velocity[A], at);
    derivative +=
        scalar_along<Advected, A>(m, middle, 1, u.value, u.stride[A], diffusivity, 0) -
        scalar_along<Advected, A>(m, s.value, s.stride[A], u.value, u.stride[A], diffusivity, 0);
}

} // namespace

SurfaceScalars::SurfaceScalars(const ImmersedGrid& grid, const FlowParameters& flow,
                               const std::array<AxisMetrics, 3>& metrics,
                               const std::vector<Box<3>>& blocks)
    : flow_(flow), metrics_(metrics) {
    const int reach = flow.scheme == Scheme::central ? 1 : 2;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        Part part;
        const geometry::Lattice cells = grid.lattice(b, 3);
        for (CutPoint& point : cut_points(grid, cells, blocks[b], 3, reach)) {
            const bool is_fluid = grid.is_fluid(b, point.at);
            (is_fluid ? part.fluid : part.solid).push_back(point);
            if (!is_fluid)
                part.body.push_back(grid.body_at(cells, point.at));
        }
        for_indices(blocks[b], [&](const Index<3>& at) {
            if (grid.is_fluid(b, at))
                return;
            const int body = grid.body_at(cells, at);
            if (!part.rows.empty()) {
                Row& last = part.rows.back();
                Index<3> next = last.first;
                next[0] += last.size;
                if (next == at && last.body == body) {
                    ++last.size;
                    return;
                }
            }
            part.rows.push_back({at, 1, body});
        });
        parts_.push_back(std::move(part));
    }
}

void SurfaceScalars::correct(const FlowBlock& block, std::size_t number, std::size_t s,
                             const View<double>& derivative) const {
    const Part& part = parts_[number];
    const View<const double>& scalar = block.scalars[s];
    for_scheme(flow_, [&]<class Advected, std::size_t D>() {
        for (const CutPoint& point : part.fluid) {
            double& out = derivative(point.at);
            const auto lines = lines_of(scalar, point, s, Advected::ghosts);
            correct_along<Advected, 0>(metrics_, block, scalar, flow_.scalars[s].diffusivity,
                                       point.at, lines[0].data() + 2, out);
            correct_along<Advected, 1>(metrics_, block, scalar, flow_.scalars[s].diffusivity,
                                       point.at, lines[1].data() + 2, out);
            if constexpr (D == 3)
                correct_along<Advected, 2>(metrics_, block, scalar, flow_.scalars[s].diffusivity,
                                           point.at, lines[2].data() + 2, out);
        }
    });
    set_solid(part, scalar, s, derivative);
}

std::array<std::array<double, 5>, 3> SurfaceScalars::lines_of(const View<const double>& scalar,
                                                              const CutPoint& point, std::size_t s,
                                                              int reach) const {
    const double* here = scalar.data() + scalar.offset(point.at);
    const Near near(scalar, metrics_, static_cast<std::size_t>(flow_.dimension), point);
    std::array<std::array<double, 5>, 3> lines{};
    for (std::size_t a = 0; a < near.dimension; ++a) {
        lines[a] = line_of(here, scalar.strides()[a], reach, point.sides[a],
                           [&](int body) { return condition(body, s).value; });
        double* middle = lines[a].data() + 2;
        for (const int step : {-1, 1}) {
            const CutSide& cut = point.sides[a][step > 0 ? 1 : 0];
            if (cut.link == 0)
                continue;
            const BodyCondition& given = condition(cut.surface, s);
            if (given.kind == Kind::fixed)
                continue;
            if (cut.link == 2) { // seen by the limiter only
                middle[2 * step] = middle[step];
                continue;
            }
            const double gradient =
                near.tangential(a, step) +
                (given.kind == Kind::flux
                     ? given.value / flow_.scalars[s].diffusivity * std::abs(cut.normal[a])
                     : near.across(a, step, given.conductivity));
            middle[step] = middle[0] + near.at_side(a, step, gradient) * near.length(a, step);
            middle[2 * step] = 2 * middle[step] - middle[0];
        }
    }
    return lines;
}

void SurfaceScalars::set_solid(const Part& part, const View<const double>& scalar, std::size_t s,
                               const View<double>& derivative) const {
    const double diffusivity = flow_.scalars[s].diffusivity;
    const auto dimension = static_cast<std::size_t>(flow_.dimension);
    for (const Row& row : part.rows) {
        Index<3> at = row.first;
        if (!conducts(row.body, s)) {
            std::fill_n(&derivative(at), row.size, 0.0);
            continue;
        }
        const BodyCondition& body = condition(row.body, s);
        for (std::int64_t n = 0; n < row.size; ++n, ++at[0]) {
            const double* here = scalar.data() + scalar.offset(at);
            double sum = 0;
            for (std::size_t a = 0; a < dimension; ++a) {
                const double* inverse = metrics_[a].inverse_distance() + at[a];
                const std::ptrdiff_t stride = scalar.strides()[a];
                sum += ((here[stride] - here[0]) * inverse[1] -
                        (here[0] - here[-stride]) * inverse[0]) *
                       metrics_[a].inverse_width()[at[a]];
            }
            derivative(at) = (diffusivity * body.conductivity * sum + body.value) / body.capacity;
        }
    }
    for (std::size_t p = 0; p < part.solid.size(); ++p) {
        const CutPoint& point = part.solid[p];
        if (!conducts(part.body[p], s))
            continue;
        const BodyCondition& body = condition(part.body[p], s);
        const double* here = scalar.data() + scalar.offset(point.at);
        const Near near(scalar, metrics_, dimension, point);
        for (std::size_t a = 0; a < dimension; ++a)
            for (const int step : {-1, 1}) {
                if (point.sides[a][step > 0 ? 1 : 0].link != 1)
                    continue;
                const double gradient =
                    near.across(a, step, 1 / body.conductivity) + near.tangential(a, step);
                const double stored =
                    (here[step * scalar.strides()[a]] - here[0]) / near.length(a, step);
                derivative(point.at) += diffusivity * body.conductivity * (gradient - stored) *
                                        metrics_[a].inverse_width()[point.at[a]] / body.capacity;
            }
    }
}

} // namespace uzushio::thermal
