// Compressible Euler equations in the plane: finite volumes on square cells, piecewise linear
// primitive variables with van Leer's limiter, HLL fluxes. Second order where the flow is smooth.
#include <cmath>
#include <numbers>

#include "bindings/block_solver.hpp"

using namespace uzushio::domain;
using State = std::array<double, 4>; ///< density, velocity along x and y, pressure; or conserved

constexpr double gas = 1.4, width = 10; ///< ratio of the specific heats; width of the box

static double sound(const State& s) { return std::sqrt(gas * s[3] / s[0]); }

static State conserved(const State& s) {
    const double kinetic = s[0] * (s[1] * s[1] + s[2] * s[2]) / 2;
    return {s[0], s[0] * s[1], s[0] * s[2], s[3] / (gas - 1) + kinetic};
}

/// Return the state at a side of a cell from the cell and its neighbours; `sign`: lower or upper.
static State at_side(const State& below, const State& cell, const State& above, double sign) {
    State side = cell;
    for (std::size_t c = 0; c < 4; ++c) {
        const double low = cell[c] - below[c], high = above[c] - cell[c];
        side[c] += low * high > 0 ? sign * low * high / (low + high) : 0;
    }
    return side;
}

/// Return the flux between two states; `n` is the index of the normal velocity.
static State hll(const State& left, const State& right, std::size_t n) {
    const double slow = std::min({left[n] - sound(left), right[n] - sound(right), 0.0});
    const double fast = std::max({left[n] + sound(left), right[n] + sound(right), 0.0});
    const State a = conserved(left), b = conserved(right);
    State flux;
    for (std::size_t c = 0; c < 4; ++c) {
        const double push = c == n ? 1 : 0, work = c == 3 ? 1 : 0;
        const double f = a[c] * left[n] + left[3] * (push + work * left[n]);
        const double g = b[c] * right[n] + right[3] * (push + work * right[n]);
        flux[c] = (fast * f - slow * g + fast * slow * (b[c] - a[c])) / (fast - slow);
    }
    return flux;
}

class Euler : public BlockSolver {
  public:
    Euler(bool vortex, std::int64_t cells)
        : vortex_(vortex), cells_(cells), h_(width / double(cells)) {}

    SolverDeclaration declare() const override {
        Zone box{"box", {vortex_ ? cells_ : 3 * cells_, cells_, 1}, {}, {}, {}};
        box.coordinates = Coordinates::uniform({}, {h_, h_, 1});
        if (vortex_) {
            connect_periodic(box, 0, {width, 0, 0});
            connect_periodic(box, 1, {0, width, 0});
        } else {
            for (const Face& face : faces(2))
                box.set_boundary(face, "open");
        }
        const std::map<std::string, GhostFill> open{{"open", zero_gradient()}};
        return {.mesh = std::make_shared<const Mesh>(2, std::vector{box}),
                .fields = {{.spec = {"conserved", 4, 2}, .boundaries = open},
                           {.spec = {"density"}, .kind = FieldKind::output},
                           {.spec = {"pressure"}, .kind = FieldKind::output}},
                .scheme = TimeScheme::ssp_rk3};
    }

    void initial(const SolverBlock& block) override {
        const View<const double> x = block.centres();
        for_indices(block.cells(), [&, u = block.field("conserved")](const Index<3>& at) {
            const State values = conserved(state_at(x(at, 0), x(at, 1)));
            for (int c = 0; c < 4; ++c)
                u(at, c) = values[std::size_t(c)];
        });
    }

    void derive(const SolverBlock& block, std::string_view name, double) override {
        const View<State> w = primitive(block, 0);
        for_indices(w.box(), [&, to = block.field(name)](const Index<3>& at) {
            to(at) = w(at)[name == "density" ? 0 : 3];
        });
    }

    void rhs(const SolverBlock& block, double) override {
        const View<State> w = primitive(block, 2);
        const View<double> change = block.derivative("conserved");
        const Box<3> cells = block.cells();
        std::fill_n(change.data(), 4 * cells.volume(), 0.0);
        for (const std::size_t axis : {0, 1}) {
            Box<3> sides = cells;
            ++sides.upper[axis];
            for_indices(sides, [&](const Index<3>& right) {
                Index<3> left = right, before = right, behind = right;
                left[axis] -= 1, before[axis] -= 2, behind[axis] += 1;
                const State flux = hll(at_side(w(before), w(left), w(right), 1),
                                       at_side(w(left), w(right), w(behind), -1), axis + 1);
                for (int c = 0; c < 4; ++c) {
                    if (cells.contains(left))
                        change(left, c) -= flux[std::size_t(c)] / h_;
                    if (cells.contains(right))
                        change(right, c) += flux[std::size_t(c)] / h_;
                }
            });
        }
    }

    double stable_dt(const SolverBlock& block) override {
        double rate = 0;
        for_indices(block.cells(), [&, w = primitive(block, 0)](const Index<3>& at) {
            rate = std::max(rate, std::abs(w(at)[1]) + std::abs(w(at)[2]) + 2 * sound(w(at)));
        });
        return h_ / rate;
    }

  private:
    State state_at(double x, double y) const {
        if (vortex_) { // isentropic (Shu 1998), carried along the diagonal
            const double dx = x - 5, dy = y - 5;
            const double swirl = 5 / (2 * std::numbers::pi) * std::exp((1 - dx * dx - dy * dy) / 2);
            const double t = 1 - (gas - 1) / (2 * gas) * swirl * swirl;
            return {std::pow(t, 2.5), 1 - swirl * dy, 1 + swirl * dx, std::pow(t, 3.5)};
        }
        if (x < 2) // behind a shock of Mach number 2, which runs into a bubble of a light gas
            return {8. / 3, 1.25 * std::sqrt(gas), 0, 4.5};
        return {std::hypot(x - 6, y - 5) < 2.5 ? 0.138 : 1, 0, 0, 1};
    }

    /// Return the primitive variables of a block with its ghosts; valid until the next call.
    View<State> primitive(const SolverBlock& block, std::int64_t ghosts) {
        const Box<3> box = block.cells().grown({ghosts, ghosts, 0});
        states_.resize(std::size_t(box.volume()));
        const View<State> w(states_.data(), box, 1);
        for_indices(box, [&, c = block.field("conserved")](const Index<3>& at) {
            const double rho = c(at), u = c(at, 1) / rho, v = c(at, 2) / rho;
            w(at) = {rho, u, v, (gas - 1) * (c(at, 3) - rho * (u * u + v * v) / 2)};
        });
        return w;
    }

    bool vortex_;
    std::int64_t cells_; ///< across the box
    double h_;           ///< width of a cell
    std::vector<State> states_;
};

NB_MODULE(_euler, module) {
    uzushio::bindings::bind_block_solver<Euler>(module, "Euler")
        .def(nanobind::init<bool, std::int64_t>());
}
