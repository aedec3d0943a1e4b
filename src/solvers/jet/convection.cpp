#include "solvers/jet/convection.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "solvers/jet/reconstruction.hpp"

namespace uzushio::jet {
namespace {

/// Pointers to a value in the cells below and above the sides of a row.
struct Pair {
    Pair(const View<const double>& view, const SideRow& row, int component)
        : above(&view(row.first, component)), below(above - view.strides()[row.axis]) {}
    const double* __restrict above;
    const double* __restrict below;
};

struct AreaRow {
    AreaRow(const FlowBlock& block, const SideRow& row)
        : x(&block.areas[row.axis](row.first, 0)), y(&block.areas[row.axis](row.first, 1)),
          z(&block.areas[row.axis](row.first, 2)) {}
    const double* __restrict x;
    const double* __restrict y;
    const double* __restrict z;
};

template <Reconstruction scheme>
void reconstruct(const double* q, std::int64_t s, std::int64_t size, double* __restrict below,
                 double* __restrict above) {
    for (std::int64_t n = 0; n < size; ++n) {
        const double* const at = q + n; // the cell above the side
        if constexpr (scheme == Reconstruction::weno5) {
            below[n] = weno5(at[-3 * s], at[-2 * s], at[-s], at[0], at[s]);
            above[n] = weno5(at[2 * s], at[s], at[0], at[-s], at[-2 * s]);
        } else {
            below[n] = muscl3(at[-2 * s], at[-s], at[0]);
            above[n] = muscl3(at[s], at[0], at[-s]);
        }
    }
}

/// Return the number of rows that `set_upwind` uses.
std::size_t buffers(const Gas& gas) { return 2 * (static_cast<std::size_t>(gas.size()) + 4) + 10; }

} // namespace

int Convection::ghosts(const JetParameters& flow) {
    if (flow.scheme == Scheme::keep)
        return 1;
    return flow.reconstruction == Reconstruction::weno5 ? 3 : 2;
}

void Convection::set(const FlowBlock& block, const SideRow& row, double* const* fluxes) {
    if (flow_.scheme == Scheme::upwind)
        return set_upwind(block, row, fluxes);
    set_keep(block, row, fluxes);
    if (flow_.scheme == Scheme::keep)
        return;
    const Pair sensor(block.sensor, row, 0);
    double largest = 0;
    for (std::int64_t n = 0; n < row.size; ++n)
        largest = std::max({largest, sensor.below[n], sensor.above[n]});
    if (largest == 0)
        return;
    const int count = Conserved(flow_.gas.size()).count;
    const std::size_t first = buffers(flow_.gas);
    upwind_.reserve(first + static_cast<std::size_t>(count), row.size);
    std::vector<double*> upwind;
    for (int c = 0; c < count; ++c)
        upwind.push_back(upwind_[first + static_cast<std::size_t>(c)]);
    set_upwind(block, row, upwind.data());
    for (int c = 0; c < count; ++c) {
        double* __restrict const out = fluxes[c];
        const double* __restrict const in = upwind[static_cast<std::size_t>(c)];
        for (std::int64_t n = 0; n < row.size; ++n)
            out[n] += std::max(sensor.below[n], sensor.above[n]) * (in[n] - out[n]);
    }
}

// Kinetic-energy- and pressure-equilibrium-preserving fluxes. Of one gas: Shima, Kuya, Tamaki &
// Kawai 2021. Of mixtures, species s has the density
//
//     (X_s- n+ + X_s+ n-) M_s / 2
//
// with mole fractions X, molar densities n and molar masses M on both sides. With the mean of the
// internal energies, uniform pressure and velocity then stay uniform at any contact of calorically
// perfect gases: 1 / (gamma - 1) is linear in X, and its convected mean satisfies the gas law.
void Convection::set_keep(const FlowBlock& block, const SideRow& row, double* const* fluxes) {
    const Gas& gas = flow_.gas;
    const Conserved at(gas.size());
    const Pair u(block.primitive, row, Primitive::u), v(block.primitive, row, Primitive::v),
        w(block.primitive, row, Primitive::w), p(block.primitive, row, Primitive::pressure),
        e(block.primitive, row, Primitive::internal_energy);
    const AreaRow area(block, row);
    keep_.reserve(6, row.size);
    double* __restrict const below = keep_[0]; // volume fluxes
    double* __restrict const above = keep_[1];
    double* __restrict const mass = keep_[2];
    double* __restrict const ratio = keep_[3];
    double* __restrict const formation = keep_[4];
    for (std::int64_t n = 0; n < row.size; ++n) {
        below[n] = u.below[n] * area.x[n] + v.below[n] * area.y[n] + w.below[n] * area.z[n];
        above[n] = u.above[n] * area.x[n] + v.above[n] * area.y[n] + w.above[n] * area.z[n];
        mass[n] = formation[n] = 0;
    }
    const bool is_mixture = gas.size() > 1;
    if (is_mixture) {
        const Pair t(block.primitive, row, Primitive::temperature);
        for (std::int64_t n = 0; n < row.size; ++n) // of molar densities, above over below
            ratio[n] = p.above[n] * t.below[n] / (p.below[n] * t.above[n]);
    }
    for (int s = 0; s < gas.size(); ++s) {
        const Pair rho(block.conserved, row, s);
        double* __restrict const flux = fluxes[s];
        if (is_mixture)
            for (std::int64_t n = 0; n < row.size; ++n)
                flux[n] = 0.25 * (rho.below[n] * ratio[n] + rho.above[n] / ratio[n]) *
                          (below[n] + above[n]);
        else
            for (std::int64_t n = 0; n < row.size; ++n)
                flux[n] = 0.25 * (rho.below[n] + rho.above[n]) * (below[n] + above[n]);
        const double energy = gas.species[static_cast<std::size_t>(s)].formation_energy;
        for (std::int64_t n = 0; n < row.size; ++n) {
            mass[n] += flux[n];
            formation[n] += energy * flux[n];
        }
    }
    if (gas.polynomials)
        set_carried_energy(block, row, fluxes, formation);
    double* __restrict const fu = fluxes[at.momentum];
    double* __restrict const fv = fluxes[at.momentum + 1];
    double* __restrict const fw = fluxes[at.momentum + 2];
    double* __restrict const fe = fluxes[at.energy];
    for (std::int64_t n = 0; n < row.size; ++n) {
        const double half = 0.5 * mass[n], mean = 0.5 * (p.below[n] + p.above[n]);
        fu[n] = half * (u.below[n] + u.above[n]) + mean * area.x[n];
        fv[n] = half * (v.below[n] + v.above[n]) + mean * area.y[n];
        fw[n] = half * (w.below[n] + w.above[n]) + mean * area.z[n];
        fe[n] =
            half * (u.below[n] * u.above[n] + v.below[n] * v.above[n] + w.below[n] * w.above[n]) +
            0.25 * (e.below[n] + e.above[n]) * (below[n] + above[n]) +
            0.5 * (p.below[n] * above[n] + p.above[n] * below[n]) + formation[n];
    }
}

// Where pressure and velocity are uniform, the energy changes by the sum of the changes of the
// partial densities times its derivatives at constant pressure, e_s - R_s rho c_v T / n with n =
// p / T. Their means at both sides carry it, besides the mean of rho c_v T.
void Convection::set_carried_energy(const FlowBlock& block, const SideRow& row,
                                    double* const* fluxes, double* carried) {
    const Gas& gas = flow_.gas;
    const auto size = static_cast<std::size_t>(row.size);
    double* __restrict const enthalpy = keep_[5];
    std::fill_n(carried, row.size, 0.);
    const Pair T(block.primitive, row, Primitive::temperature);
    const Pair p(block.primitive, row, Primitive::pressure);
    const Pair heat(block.primitive, row, Primitive::internal_energy);
    for (const bool is_above : {false, true}) {
        const double* __restrict const t = is_above ? T.above : T.below;
        const double* __restrict const pressure = is_above ? p.above : p.below;
        const double* __restrict const h = is_above ? heat.above : heat.below;
        for (int s = 0; s < gas.size(); ++s) {
            gas.polynomials->set_enthalpies(s, {t, size}, {enthalpy, size});
            const double constant = gas.species[static_cast<std::size_t>(s)].gas_constant;
            const double* __restrict const flux = fluxes[s];
            for (std::size_t n = 0; n < size; ++n)
                carried[n] +=
                    0.5 * flux[n] * (enthalpy[n] - constant * t[n] * (1 + h[n] / pressure[n]));
        }
    }
}

// SLAU2 (Kitamura & Shima 2013) of reconstructed partial densities, velocity and pressure.
void Convection::set_upwind(const FlowBlock& block, const SideRow& row, double* const* fluxes) {
    const Gas& gas = flow_.gas;
    const Conserved at(gas.size());
    const auto species = static_cast<std::size_t>(gas.size());
    const std::int64_t size = row.size;
    upwind_.reserve(buffers(gas) + static_cast<std::size_t>(at.count), size);
    // Reconstructed variables below and above: species, then u, v, w, p.
    const auto side = [&](std::size_t variable, bool is_above) {
        return upwind_[2 * variable + (is_above ? 1 : 0)];
    };
    const auto set = [&](std::size_t variable, const View<const double>& view, int component,
                         bool is_positive) {
        const double* const q = &view(row.first, component);
        const std::int64_t s = view.strides()[row.axis];
        double* __restrict const below = side(variable, false);
        double* __restrict const above = side(variable, true);
        if (flow_.reconstruction == Reconstruction::weno5)
            reconstruct<Reconstruction::weno5>(q, s, size, below, above);
        else
            reconstruct<Reconstruction::muscl3>(q, s, size, below, above);
        if (is_positive) // else of first order
            for (std::int64_t n = 0; n < size; ++n) {
                below[n] = below[n] > 0 ? below[n] : q[n - s];
                above[n] = above[n] > 0 ? above[n] : q[n];
            }
    };
    for (std::size_t s = 0; s < species; ++s)
        set(s, block.conserved, static_cast<int>(s), true);
    for (std::size_t c = 0; c < 3; ++c)
        set(species + c, block.primitive, Primitive::u + static_cast<int>(c), false);
    set(species + 3, block.primitive, Primitive::pressure, true);

    const std::size_t used = 2 * (species + 4);
    double* sums[2][4]; // density, gas constant, heat capacity, energy of formation; by side
    for (std::size_t b = 0; b < 2; ++b)
        for (std::size_t k = 0; k < 4; ++k) {
            sums[b][k] = upwind_[used + 4 * b + k];
            std::fill_n(sums[b][k], size, 0.);
        }
    for (std::size_t s = 0; s < species; ++s)
        for (std::size_t b = 0; b < 2; ++b) {
            const Species& of = gas.species[s];
            const double* __restrict const rho = side(s, b == 1);
            double* __restrict const r = sums[b][0];
            double* __restrict const constant = sums[b][1];
            double* __restrict const capacity = sums[b][2];
            double* __restrict const formation = sums[b][3];
            for (std::int64_t n = 0; n < size; ++n) {
                r[n] += rho[n];
                constant[n] += rho[n] * of.gas_constant;
                capacity[n] += rho[n] * of.heat_capacity;
                formation[n] += rho[n] * of.formation_energy;
            }
        }
    if (gas.polynomials)
        for (std::size_t b = 0; b < 2; ++b) {
            // Of the reconstructed states: rho c_v, and the energy that is not rho c_v T.
            std::array<const double*, Mixture::max_species> parts{};
            for (std::size_t s = 0; s < species; ++s)
                parts[s] = side(s, b == 1);
            double* const T = upwind_[used + 8 + b];
            const double* const p = side(species + 3, b == 1);
            const auto count = static_cast<std::size_t>(size);
            for (std::size_t n = 0; n < count; ++n)
                T[n] = p[n] / sums[b][1][n];
            gas.polynomials->set_energies({parts.data(), species}, {T, count}, {sums[b][2], count},
                                          {sums[b][3], count});
            for (std::size_t n = 0; n < count; ++n) {
                sums[b][2][n] -= sums[b][1][n];
                sums[b][3][n] -= sums[b][2][n] * T[n];
            }
        }
    const AreaRow area(block, row);
    const double* __restrict const ub = side(species, false);
    const double* __restrict const ua = side(species, true);
    const double* __restrict const vb = side(species + 1, false);
    const double* __restrict const va = side(species + 1, true);
    const double* __restrict const wb = side(species + 2, false);
    const double* __restrict const wa = side(species + 2, true);
    const double* __restrict const pb = side(species + 3, false);
    const double* __restrict const pa = side(species + 3, true);
    const double* __restrict const rb = sums[0][0];
    const double* __restrict const ra = sums[1][0];
    const double* __restrict const Rb = sums[0][1];
    const double* __restrict const Ra = sums[1][1];
    const double* __restrict const Cb = sums[0][2];
    const double* __restrict const Ca = sums[1][2];
    const double* __restrict const Fb = sums[0][3];
    const double* __restrict const Fa = sums[1][3];
    double* __restrict const fu = fluxes[at.momentum];
    double* __restrict const fv = fluxes[at.momentum + 1];
    double* __restrict const fw = fluxes[at.momentum + 2];
    double* __restrict const fe = fluxes[at.energy];
    double* __restrict const from_below = upwind_[used + 8]; // volume fluxes
    double* __restrict const from_above = upwind_[used + 9];
    for (std::int64_t n = 0; n < size; ++n) {
        const double magnitude =
            std::sqrt(area.x[n] * area.x[n] + area.y[n] * area.y[n] + area.z[n] * area.z[n]);
        const double inverse = magnitude > 0 ? 1 / magnitude : 0;
        const double nx = area.x[n] * inverse, ny = area.y[n] * inverse, nz = area.z[n] * inverse;
        const double cb = std::sqrt((1 + Rb[n] / Cb[n]) * pb[n] / rb[n]);
        const double ca = std::sqrt((1 + Ra[n] / Ca[n]) * pa[n] / ra[n]);
        const double c = 0.5 * (cb + ca);
        const double qb = ub[n] * nx + vb[n] * ny + wb[n] * nz;
        const double qa = ua[n] * nx + va[n] * ny + wa[n] * nz;
        const double kb = ub[n] * ub[n] + vb[n] * vb[n] + wb[n] * wb[n];
        const double ka = ua[n] * ua[n] + va[n] * va[n] + wa[n] * wa[n];
        const double mb = qb / c, ma = qa / c;
        const double g = -std::max(std::min(mb, 0.), -1.) * std::min(std::max(ma, 0.), 1.);
        const double mean = (rb[n] * std::abs(qb) + ra[n] * std::abs(qa)) / (rb[n] + ra[n]);
        const double speed_b = (1 - g) * mean + g * std::abs(qb);
        const double speed_a = (1 - g) * mean + g * std::abs(qa);
        const double speed = std::sqrt(0.5 * (kb + ka));
        const double mach = std::min(1., speed / c), chi = (1 - mach) * (1 - mach);
        const double mass =
            0.5 * (rb[n] * (qb + speed_b) + ra[n] * (qa - speed_a) - chi / c * (pa[n] - pb[n]));
        const double beta_b =
            std::abs(mb) >= 1 ? (mb > 0 ? 1. : 0.) : 0.25 * (2 - mb) * (mb + 1) * (mb + 1);
        const double beta_a =
            std::abs(ma) >= 1 ? (ma > 0 ? 0. : 1.) : 0.25 * (2 + ma) * (ma - 1) * (ma - 1);
        const double p = 0.5 * (pb[n] + pa[n]) + 0.5 * (beta_b - beta_a) * (pb[n] - pa[n]) +
                         speed * (beta_b + beta_a - 1) * 0.5 * (rb[n] + ra[n]) * c;
        const double from_b = 0.5 * (mass + std::abs(mass)) * magnitude;
        const double from_a = 0.5 * (mass - std::abs(mass)) * magnitude;
        const double hb = (pb[n] * (1 + Cb[n] / Rb[n]) + Fb[n]) / rb[n] + 0.5 * kb;
        const double ha = (pa[n] * (1 + Ca[n] / Ra[n]) + Fa[n]) / ra[n] + 0.5 * ka;
        fu[n] = from_b * ub[n] + from_a * ua[n] + p * area.x[n];
        fv[n] = from_b * vb[n] + from_a * va[n] + p * area.y[n];
        fw[n] = from_b * wb[n] + from_a * wa[n] + p * area.z[n];
        fe[n] = from_b * hb + from_a * ha;
        from_below[n] = from_b / rb[n];
        from_above[n] = from_a / ra[n];
    }
    for (std::size_t s = 0; s < species; ++s) {
        const double* __restrict const below = side(s, false);
        const double* __restrict const above = side(s, true);
        double* __restrict const flux = fluxes[s];
        for (std::int64_t n = 0; n < size; ++n)
            flux[n] = from_below[n] * below[n] + from_above[n] * above[n];
    }
}

namespace {

/// Return 0 below `low`, 1 above `high`, linear between.
double ramp(double value, double low, double high) {
    return std::min(1., std::max(0., (value - low) / (high - low)));
}

/// Return the second difference of a positive value over four times its mean.
double bend(double below, double here, double above) {
    return std::abs(above - 2 * here + below) / (above + 2 * here + below);
}

} // namespace

// By rows, one axis after the other: sums over the sides of a cell, and the largest bends.
void set_sensor(const JetParameters& flow, const FlowBlock& block, const Box<3>& cells,
                const View<double>& sensor) {
    const auto axes = static_cast<std::size_t>(flow.mesh->dimension());
    const int species = flow.gas.size();
    RowBuffers rows;
    rows.reserve(8, cells.extent(0));
    domain::for_rows(cells, [&](const Index<3>& first, std::int64_t size) {
        double* __restrict const divergence = rows[0];
        double* __restrict const cx = rows[1]; // of the curl
        double* __restrict const cy = rows[2];
        double* __restrict const cz = rows[3];
        double* __restrict const area = rows[4];
        double* __restrict const pressure_bend = rows[5];
        double* __restrict const jump = rows[6];
        double* __restrict const bends = rows[7]; // of the species
        for (std::size_t k = 0; k < 7; ++k)
            std::fill_n(rows[k], size, 0.);
        const auto value = [&](int component) { return &block.primitive(first, component); };
        const double* __restrict const u = value(Primitive::u);
        const double* __restrict const v = value(Primitive::v);
        const double* __restrict const w = value(Primitive::w);
        const double* __restrict const p = value(Primitive::pressure);
        const double* __restrict const rho = value(Primitive::density);
        for (std::size_t a = 0; a < axes; ++a) {
            const std::int64_t s = block.primitive.strides()[a], t = block.areas[a].strides()[a];
            const double* __restrict const x = &block.areas[a](first, 0);
            const double* __restrict const y = &block.areas[a](first, 1);
            const double* __restrict const z = &block.areas[a](first, 2);
            for (std::int64_t n = 0; n < size; ++n) {
                const auto through = [&](const double* q, const double* side) {
                    return 0.5 * (q[n + s] * side[n + t] - q[n - s] * side[n]);
                };
                divergence[n] += through(u, x) + through(v, y) + through(w, z);
                cx[n] += through(w, y) - through(v, z);
                cy[n] += through(u, z) - through(w, x);
                cz[n] += through(v, x) - through(u, y);
                area[n] +=
                    std::sqrt(x[n + t] * x[n + t] + y[n + t] * y[n + t] + z[n + t] * z[n + t]);
                pressure_bend[n] = std::max(pressure_bend[n], bend(p[n - s], p[n], p[n + s]));
                jump[n] = std::max(jump[n], bend(rho[n - s], rho[n], rho[n + s]));
            }
            if (species == 1)
                continue;
            std::fill_n(bends, size, 0.);
            for (int k = 0; k < species; ++k) {
                const double* __restrict const part = &block.conserved(first, k);
                for (std::int64_t n = 0; n < size; ++n)
                    bends[n] += std::abs(part[n + s] / rho[n + s] - 2 * (part[n] / rho[n]) +
                                         part[n - s] / rho[n - s]);
            }
            for (std::int64_t n = 0; n < size; ++n)
                jump[n] = std::max(jump[n], 0.125 * bends[n]);
        }
        double* __restrict const out = &sensor(first);
        for (std::int64_t n = 0; n < size; ++n) {
            // Both are compared with a thousandth of the speed of sound across a cell.
            const double sound = 1e-6 * p[n] / rho[n] * area[n] * area[n];
            const double square = divergence[n] * divergence[n];
            const double rotation = cx[n] * cx[n] + cy[n] * cy[n] + cz[n] * cz[n];
            const double ducros = divergence[n] < 0 ? square / (square + rotation + sound) : 0;
            out[n] =
                std::max(ducros * ramp(pressure_bend[n], 0.001, 0.005), ramp(jump[n], 0.02, 0.04));
        }
    });
}

} // namespace uzushio::jet
