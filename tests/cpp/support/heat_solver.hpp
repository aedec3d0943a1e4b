#pragma once

#include <mpi.h>

#include <functional>
#include <vector>

#include "domain/boundaries.hpp"
#include "domain/halo_exchange.hpp"
#include "domain/positions.hpp"
#include "domain/time_integrator.hpp"

namespace uzushio::domain {

/// Heat equation u_t = div grad u on a curvilinear multiblock mesh, u = 0 at "mantle": finite
/// volumes, second order. Gradients by least squares over the neighbours of a cell, so that edges
/// at which three or five blocks meet need nothing of their own.
class HeatSolver {
  public:
    HeatSolver(MPI_Comm comm, const Decomposition& decomposition, int rank)
        : decomposition_(decomposition), u_(decomposition, rank, {"u", 1, 1}),
          gradient_(decomposition, rank, {"gradient", 3, 1}),
          centres_(positions(decomposition, rank, Centring::cell, 1)),
          cells_(decomposition, rank, {"cells", cell_values, 0}),
          areas_(decomposition, rank, {"areas", 3, 0, Centring::face}),
          u_halo_(comm, decomposition, {u_.spec()}, Reach::faces, traffic_),
          gradient_halo_(comm, decomposition, {gradient_.spec()}, Reach::faces, traffic_),
          cold_(decomposition, rank, 1, {{"mantle", mirror(-1)}}),
          same_(decomposition, rank, 1, {{"mantle", mirror(1)}}),
          integrator_(TimeScheme::wray_rk3, decomposition, rank, {u_.spec()}) {
        HaloExchange<double> halo(comm, decomposition, {centres_.spec()}, Reach::faces, traffic_);
        halo.exchange(centres_);
        Boundaries<double>(decomposition, rank, 1,
                           {{"mantle", [this](const auto& region, auto fields,
                                              double) { mirror_positions(region, fields); }}})
            .apply(centres_, 0);
        for (std::size_t b = 0; b < u_.blocks(); ++b)
            measure(b, decomposition.mesh().zone(
                           decomposition.block(decomposition.blocks_of(rank)[b]).zone));
    }

    /// Set u at the cell centres.
    void set(const std::function<double(const Vector&)>& value) {
        for (std::size_t b = 0; b < u_.blocks(); ++b)
            for_cells(u_.owned(b), [&](const Index<3>& at) {
                u_.view(b)(at) = value(vector(centres_.view(b), at));
            });
    }
    void step(double time, double dt) {
        Field<double>* const state = &u_;
        integrator_.step(time, dt, std::span(&state, 1), [this](double now, auto, auto derivative) {
            set_derivative(now, *derivative[0]);
        });
    }
    Field<double>& u() { return u_; }
    const Field<double>& centres() const { return centres_; }
    /// Volume of a cell; negative in left-handed zones.
    double volume(std::size_t block, const Index<3>& at) const {
        return cells_.view(block)(at, volume_at);
    }

    template <class Visit> static void for_cells(const Box<3>& box, Visit&& visit) {
        for (std::int64_t k = box.lower[2]; k < box.upper[2]; ++k)
            for (std::int64_t j = box.lower[1]; j < box.upper[1]; ++j)
                for (std::int64_t i = box.lower[0]; i < box.upper[0]; ++i)
                    visit(Index<3>{i, j, k});
    }

  private:
    static constexpr int volume_at = 6, cell_values = 7; ///< after the inverse of the normal matrix

    static Vector vector(const View<const double>& view, const Index<3>& at) {
        return {view(at, 0), view(at, 1), view(at, 2)};
    }
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
    static Boundaries<double>::Condition mirror(double factor) {
        return [factor](const BoundaryRegion& region, auto fields, double) {
            const auto view = fields[0]->view(region.local);
            for_cells(region.ghosts(1), [&](const Index<3>& at) {
                for (int c = 0; c < view.components(); ++c)
                    view(at, c) = factor * view(region.mirrored(at), c);
            });
        };
    }
    /// A ghost lies as far behind the centre of its cell side as its mirror image before it.
    void mirror_positions(const BoundaryRegion& region, auto fields) const {
        const auto view = fields[0]->view(region.local);
        const Coordinates& coordinates = decomposition_.mesh().zone(region.block.zone).coordinates;
        for_cells(region.ghosts(1), [&](const Index<3>& at) {
            const Index<3> inside = region.mirrored(at);
            if (!region.block.cells.contains(inside))
                return; // an edge, of which no use is made
            const std::size_t axis = region.patch.face.axis;
            const Vector middle =
                side(coordinates, region.patch.face.is_upper() ? at : inside, axis).first;
            for (int c = 0; c < 3; ++c)
                view(at, c) = 2 * middle[static_cast<std::size_t>(c)] - view(inside, c);
        });
    }

    /// Centre and area vector of the lower side of a cell along an axis.
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

    /// Volumes by the divergence theorem, areas, and the inverse matrices of the least squares.
    void measure(std::size_t b, const Zone& zone) {
        for (std::size_t axis = 0; axis < 3; ++axis)
            for_cells(areas_.owned(b, axis), [&](const Index<3>& at) {
                const Vector area = side(zone.coordinates, at, axis).second;
                for (int c = 0; c < 3; ++c)
                    areas_.view(b, axis)(at, c) = area[static_cast<std::size_t>(c)];
            });
        const View<const double> centres = std::as_const(centres_).view(b);
        for_cells(cells_.owned(b), [&](const Index<3>& at) {
            double volume = 0, m[6] = {};
            for (std::size_t axis = 0; axis < 3; ++axis)
                for (const std::int64_t up : {0, 1}) {
                    const auto [middle, area] = side(zone.coordinates, moved(at, axis, up), axis);
                    volume += (up ? 1 : -1) * dot(middle, area) / 3;
                    const Vector d =
                        minus(vector(centres, moved(at, axis, 2 * up - 1)), vector(centres, at));
                    const double w = 1 / dot(d, d);
                    m[0] += w * d[0] * d[0], m[1] += w * d[1] * d[1], m[2] += w * d[2] * d[2];
                    m[3] += w * d[1] * d[2], m[4] += w * d[0] * d[2], m[5] += w * d[0] * d[1];
                }
            const double cofactors[6] = {m[1] * m[2] - m[3] * m[3], m[0] * m[2] - m[4] * m[4],
                                         m[0] * m[1] - m[5] * m[5], m[4] * m[5] - m[0] * m[3],
                                         m[3] * m[5] - m[1] * m[4], m[3] * m[4] - m[2] * m[5]};
            const double determinant =
                m[0] * cofactors[0] + m[5] * cofactors[5] + m[4] * cofactors[4];
            const auto view = cells_.view(b);
            for (int c = 0; c < 6; ++c)
                view(at, c) = cofactors[c] / determinant;
            view(at, volume_at) = volume;
        });
    }

    void set_gradient(std::size_t b) {
        const View<const double> u = std::as_const(u_).view(b), x = std::as_const(centres_).view(b),
                                 m = std::as_const(cells_).view(b);
        const View<double> g = gradient_.view(b);
        for_cells(u_.owned(b), [&](const Index<3>& at) {
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

    void set_derivative(double time, Field<double>& derivative) {
        u_halo_.exchange(u_);
        cold_.apply(u_, time);
        for (std::size_t b = 0; b < u_.blocks(); ++b)
            set_gradient(b);
        gradient_halo_.exchange(gradient_);
        same_.apply(gradient_, time);
        for (std::size_t b = 0; b < u_.blocks(); ++b) {
            const View<const double> u = std::as_const(u_).view(b),
                                     x = std::as_const(centres_).view(b),
                                     g = std::as_const(gradient_).view(b),
                                     m = std::as_const(cells_).view(b);
            for_cells(u_.owned(b), [&](const Index<3>& at) {
                double sum = 0;
                for (std::size_t axis = 0; axis < 3; ++axis) {
                    const View<const double> areas = std::as_const(areas_).view(b, axis);
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
                derivative.view(b)(at) = sum / m(at, volume_at);
            });
        }
    }

    const Decomposition& decomposition_;
    parallel::Traffic traffic_;
    Field<double> u_, gradient_, centres_, cells_, areas_;
    HaloExchange<double> u_halo_, gradient_halo_;
    Boundaries<double> cold_, same_;
    TimeIntegrator<double> integrator_;
};

} // namespace uzushio::domain
