#pragma once

#include <cmath>
#include <numbers>

#include "domain/block_solver.hpp"
#include "support/cylinder_mesh.hpp"

namespace uzushio::domain {

/// Heat equation u_t = div grad u in `cylinder_mesh`, u = 0 at "mantle": finite volumes, second
/// order. Gradients by least squares over the neighbours of a cell, so that edges at which three
/// or five blocks meet need no special treatment.
class HeatSolver : public BlockSolver {
  public:
    HeatSolver(std::int64_t n, std::int64_t nz) : n_(n), nz_(nz) {}

    /// Return the exact solution: the mode of order 1 around the axis, with one wave along z.
    static double exact(const Vector& at, double time) {
        constexpr double zero_of_j1 = 3.8317059702075123;
        const double radius = std::hypot(at[0], at[1]), wave = 2 * std::numbers::pi;
        if (radius == 0)
            return 0;
        const double decay = zero_of_j1 * zero_of_j1 + wave * wave;
        return std::cyl_bessel_j(1, zero_of_j1 * std::min(radius, 1.0)) * (at[0] - 0.5 * at[1]) /
               radius * std::cos(wave * at[2] + 0.3) * std::exp(-decay * time);
    }
    /// Return the volume of a cell; negative in left-handed zones.
    [[nodiscard]] double volume(std::size_t block, const Index<3>& at) const {
        return cells_->view(block)(at, volume_at);
    }
    static Vector vector(const View<const double>& view, const Index<3>& at) {
        return {view(at, 0), view(at, 1), view(at, 2)};
    }

  protected:
    [[nodiscard]] SolverDeclaration declare() const override {
        return {.mesh = cylinder_mesh(n_, nz_),
                .fields = {{.spec = {"u", 1, 1},
                            .unit = "K",
                            .description = "temperature",
                            .boundaries = {{"mantle", fixed_value(0)}}},
                           {.spec = {"gradient", 3, 1},
                            .kind = FieldKind::derived,
                            .unit = "K/m",
                            .description = "temperature gradient",
                            .boundaries = {{"mantle", zero_gradient()}}}},
                .scheme = TimeScheme::wray_rk3,
                .max_imbalance = 1.2};
    }

    /// Compute volumes by the divergence theorem, areas, and the inverse matrices of the least
    /// squares.
    void prepare(const SolverBlock& block) override {
        if (!cells_) {
            cells_.emplace(decomposition(), rank(), FieldSpec{"cells", cell_values});
            areas_.emplace(decomposition(), rank(), FieldSpec{"areas", 3, 0, Centring::face});
        }
        const Coordinates& coordinates = block.zone().coordinates;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const View<double> areas = areas_->view(block.local(), axis);
            for_indices(areas.box(), [&](const Index<3>& at) {
                const Vector area = side(coordinates, at, axis).second;
                for (int c = 0; c < 3; ++c)
                    areas(at, c) = area[static_cast<std::size_t>(c)];
            });
        }
        const View<const double> centres = block.centres();
        double& max_weights = max_weights_.emplace_back(0);
        for_indices(block.cells(), [&](const Index<3>& at) {
            double volume = 0, weights = 0, m[6] = {};
            for (std::size_t axis = 0; axis < 3; ++axis)
                for (const std::int64_t up : {0, 1}) {
                    const auto [middle, area] = side(coordinates, moved(at, axis, up), axis);
                    volume += (up ? 1 : -1) * dot(middle, area) / 3;
                    const Vector d =
                        minus(vector(centres, moved(at, axis, 2 * up - 1)), vector(centres, at));
                    const double w = 1 / dot(d, d);
                    weights += w;
                    m[0] += w * d[0] * d[0], m[1] += w * d[1] * d[1], m[2] += w * d[2] * d[2];
                    m[3] += w * d[1] * d[2], m[4] += w * d[0] * d[2], m[5] += w * d[0] * d[1];
                }
            const double cofactors[6] = {m[1] * m[2] - m[3] * m[3], m[0] * m[2] - m[4] * m[4],
                                         m[0] * m[1] - m[5] * m[5], m[4] * m[5] - m[0] * m[3],
                                         m[3] * m[5] - m[1] * m[4], m[3] * m[4] - m[2] * m[5]};
            const double determinant =
                m[0] * cofactors[0] + m[5] * cofactors[5] + m[4] * cofactors[4];
            const View<double> view = cells_->view(block.local());
            for (int c = 0; c < 6; ++c)
                view(at, c) = cofactors[c] / determinant;
            view(at, volume_at) = volume;
            max_weights = std::max(max_weights, weights);
        });
    }

    void initial(const SolverBlock& block) override {
        const View<double> u = block.field("u");
        const View<const double> centres = block.centres();
        for_indices(block.cells(),
                    [&](const Index<3>& at) { u(at) = exact(vector(centres, at), 0); });
    }

    void derive(const SolverBlock& block, std::string_view, double) override {
        const View<const double> u = block.field("u"), x = block.centres(),
                                 m = cells_->view(block.local());
        const View<double> g = block.field("gradient");
        for_indices(block.cells(), [&](const Index<3>& at) {
            Vector sum{};
            for (std::size_t axis = 0; axis < 3; ++axis)
                for (const int by : {-1, 1}) {
                    const Index<3> next = moved(at, axis, by);
                    const Vector d = minus(vector(x, next), vector(x, at));
                    const double w = (u(next) - u(at)) / dot(d, d);
                    for (std::size_t c = 0; c < 3; ++c)
                        sum[c] += w * d[c];
                }
            g(at, 0) = m(at, 0) * sum[0] + m(at, 5) * sum[1] + m(at, 4) * sum[2];
            g(at, 1) = m(at, 5) * sum[0] + m(at, 1) * sum[1] + m(at, 3) * sum[2];
            g(at, 2) = m(at, 4) * sum[0] + m(at, 3) * sum[1] + m(at, 2) * sum[2];
        });
    }

    void rhs(const SolverBlock& block, double) override {
        const View<const double> u = block.field("u"), x = block.centres(),
                                 g = block.field("gradient"), m = cells_->view(block.local());
        const View<double> derivative = block.derivative("u");
        for_indices(block.cells(), [&](const Index<3>& at) {
            double sum = 0;
            for (std::size_t axis = 0; axis < 3; ++axis) {
                const View<const double> areas = areas_->view(block.local(), axis);
                for (const std::int64_t up : {0, 1}) {
                    const Index<3> right = moved(at, axis, up), left = moved(right, axis, -1);
                    const Vector e = minus(vector(x, right), vector(x, left));
                    Vector mean = vector(g, right);
                    for (int c = 0; c < 3; ++c)
                        mean[static_cast<std::size_t>(c)] =
                            (mean[static_cast<std::size_t>(c)] + g(left, c)) / 2;
                    // The difference of the two values replaces the mean's part along e.
                    const double along = (u(right) - u(left) - dot(mean, e)) / dot(e, e);
                    const Vector area = vector(areas, right);
                    sum += (up ? 1 : -1) * (dot(mean, area) + along * dot(e, area));
                }
            }
            derivative(at) = sum / m(at, volume_at);
        });
    }

    double stable_dt(const SolverBlock& block) override { return 1 / max_weights_[block.local()]; }

  private:
    static constexpr int volume_at = 6, cell_values = 7; ///< after the inverse of the normal matrix

    static Vector minus(const Vector& a, const Vector& b) {
        return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    }
    static double dot(const Vector& a, const Vector& b) {
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    }
    static Vector cross(const Vector& a, const Vector& b) {
        return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    }
    static Index<3> moved(Index<3> at, std::size_t axis, std::int64_t by) {
        at[axis] += by;
        return at;
    }
    /// Return centre and area vector of the lower side of a cell along an axis.
    static std::pair<Vector, Vector> side(const Coordinates& coordinates, const Index<3>& at,
                                          std::size_t axis) {
        const std::size_t a = (axis + 1) % 3, b = (axis + 2) % 3;
        const Vector p = coordinates.vertex(at), q = coordinates.vertex(moved(at, a, 1)),
                     r = coordinates.vertex(moved(moved(at, a, 1), b, 1)),
                     s = coordinates.vertex(moved(at, b, 1));
        Vector centre{};
        for (std::size_t c = 0; c < 3; ++c)
            centre[c] = (p[c] + q[c] + r[c] + s[c]) / 4;
        Vector area = cross(minus(r, p), minus(s, q));
        for (double& component : area)
            component /= 2;
        return {centre, area};
    }

    std::int64_t n_, nz_;
    std::optional<Field<double>> cells_, areas_; ///< inverse matrix and volume; area vectors
    std::vector<double> max_weights_;            ///< largest sum of weights of a cell, by block
};

} // namespace uzushio::domain
