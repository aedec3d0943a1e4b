#include "solvers/jet/diffusion.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace uzushio::jet {
namespace {

// Rows in `Diffusion::rows_`.
constexpr std::size_t transforms = 0; ///< gradients of the indices: 3 axes x 3 components
constexpr std::size_t velocity = 9;   ///< gradients of u, v, w
constexpr std::size_t scalar = 18;    ///< gradient of one scalar
constexpr std::size_t molecular = 21; ///< viscosity
constexpr std::size_t turbulent = 22; ///< eddy viscosity
constexpr std::size_t conductivity = 23;
constexpr std::size_t diffusivity = 24; ///< density times the diffusivity of species
constexpr std::size_t correction = 25;  ///< sum of the species' diffusive fluxes
constexpr std::size_t enthalpy = 26;
constexpr std::size_t count = 27;

/// Set the gradient at the sides of a row. `value(n)` is that in the cell above side n; `rows` has
/// the transforms.
template <class Value>
void set_gradient(RowBuffers& rows, std::size_t axes, const SideRow& row, const Index<3>& strides,
                  const Value& value, double* const* gradient) {
    const std::int64_t s = strides[row.axis];
    double* __restrict const gx = gradient[0];
    double* __restrict const gy = gradient[1];
    double* __restrict const gz = gradient[2];
    for (std::size_t k = 0; k < axes; ++k) {
        const std::size_t a = (row.axis + k) % axes;
        const double* __restrict const x = rows[transforms + 3 * a];
        const double* __restrict const y = rows[transforms + 3 * a + 1];
        const double* __restrict const z = rows[transforms + 3 * a + 2];
        if (k == 0) {
            for (std::int64_t n = 0; n < row.size; ++n) {
                const double difference = value(n) - value(n - s);
                gx[n] = x[n] * difference;
                gy[n] = y[n] * difference;
                gz[n] = z[n] * difference;
            }
            continue;
        }
        const std::int64_t t = strides[a];
        for (std::int64_t n = 0; n < row.size; ++n) {
            const double difference =
                0.25 * ((value(n + t) - value(n - t)) + (value(n - s + t) - value(n - s - t)));
            gx[n] += x[n] * difference;
            gy[n] += y[n] * difference;
            gz[n] += z[n] * difference;
        }
    }
}

/// Row of a value in the cells above sides.
struct ValueRow {
    const double* __restrict values;
    double operator()(std::int64_t n) const { return values[n]; }
};
/// Row of a mass fraction.
struct FractionRow {
    const double* __restrict part;
    const double* __restrict density;
    double operator()(std::int64_t n) const { return part[n] / density[n]; }
};

} // namespace

// At a side, the gradient of index a is the mean area of the sides normal to a, over the volume.
void Diffusion::set_transforms(const FlowBlock& block, const SideRow& row) {
    const auto axes = static_cast<std::size_t>(flow_.mesh->dimension());
    const double* __restrict const above = &block.volumes(row.first);
    const double* __restrict const below = above - block.volumes.strides()[row.axis];
    for (std::size_t a = 0; a < axes; ++a) {
        const View<const double>& areas = block.areas[a];
        const std::int64_t s = areas.strides()[row.axis], t = areas.strides()[a];
        for (std::size_t c = 0; c < 3; ++c) {
            double* __restrict const out = rows_[transforms + 3 * a + c];
            const double* __restrict const area = &areas(row.first, static_cast<int>(c));
            if (a == row.axis)
                for (std::int64_t n = 0; n < row.size; ++n)
                    out[n] = 2 * area[n] / (below[n] + above[n]);
            else
                for (std::int64_t n = 0; n < row.size; ++n)
                    out[n] = 0.5 * ((area[n] + area[n + t]) + (area[n - s] + area[n - s + t])) /
                             (below[n] + above[n]);
        }
    }
}

void Diffusion::add(const FlowBlock& block, const SideRow& row, double* const* fluxes) {
    const Gas& gas = flow_.gas;
    const Conserved at(gas.size());
    const auto species = static_cast<std::size_t>(gas.size());
    rows_.reserve(count + species, row.size);
    const auto pointer = [&](const View<const double>& view, int component) {
        return &view(row.first, component);
    };
    const auto axes = static_cast<std::size_t>(flow_.mesh->dimension());
    const Index<3> strides = block.primitive.strides(); // those of the conserved variables too
    const std::int64_t s = strides[row.axis];
    set_transforms(block, row);
    for (std::size_t c = 0; c < 3; ++c) {
        double* const gradient[] = {rows_[velocity + 3 * c], rows_[velocity + 3 * c + 1],
                                    rows_[velocity + 3 * c + 2]};
        const ValueRow component{pointer(block.primitive, static_cast<int>(c))};
        set_gradient(rows_, axes, row, strides, component, gradient);
    }
    const double* __restrict const T = pointer(block.primitive, Primitive::temperature);
    const double* __restrict const rho = pointer(block.primitive, Primitive::density);
    double* __restrict const mu = rows_[molecular];
    double* __restrict const eddies = rows_[turbulent];
    for (std::int64_t n = 0; n < row.size; ++n)
        eddies[n] = 0;
    if (gas.transport) {
        const double* __restrict const above = pointer(block.transport, 0);
        const double* __restrict const below = above - block.transport.strides()[row.axis];
        for (std::int64_t n = 0; n < row.size; ++n)
            mu[n] = 0.5 * (below[n] + above[n]);
    } else {
        for (std::int64_t n = 0; n < row.size; ++n)
            mu[n] = gas.viscosity_at(0.5 * (T[n - s] + T[n]));
    }
    if (flow_.subgrid != Subgrid::none)
        add_eddies(block, row);

    // Heat capacity at constant pressure, per mass: of rho c_v T and p = rho R T.
    double* __restrict const lambda = rows_[conductivity];
    double* __restrict const mass_diffusivity = rows_[diffusivity];
    const double* __restrict const p = pointer(block.primitive, Primitive::pressure);
    const double* __restrict const heat = pointer(block.primitive, Primitive::internal_energy);
    for (std::int64_t n = 0; n < row.size; ++n)
        lambda[n] = 0.5 * ((heat[n - s] + p[n - s]) / (rho[n - s] * T[n - s]) +
                           (heat[n] + p[n]) / (rho[n] * T[n]));
    for (std::int64_t n = 0; n < row.size; ++n)
        mass_diffusivity[n] = mu[n] / gas.schmidt + eddies[n] / flow_.subgrid_schmidt;
    if (gas.transport) {
        const double* __restrict const above = pointer(block.transport, 1);
        const double* __restrict const below = above - block.transport.strides()[row.axis];
        for (std::int64_t n = 0; n < row.size; ++n) {
            const double capacity = lambda[n], conducted = 0.5 * (below[n] + above[n]);
            lambda[n] = conducted + capacity * eddies[n] / flow_.subgrid_prandtl;
            if (gas.lewis > 0)
                mass_diffusivity[n] =
                    conducted / (capacity * gas.lewis) + eddies[n] / flow_.subgrid_schmidt;
        }
    } else {
        for (std::int64_t n = 0; n < row.size; ++n)
            lambda[n] *= mu[n] / gas.prandtl + eddies[n] / flow_.subgrid_prandtl;
    }

    double* const gradient[] = {rows_[scalar], rows_[scalar + 1], rows_[scalar + 2]};
    set_gradient(rows_, axes, row, strides, ValueRow{T}, gradient);
    const View<const double>& areas = block.areas[row.axis];
    const double* __restrict const ax = pointer(areas, 0);
    const double* __restrict const ay = pointer(areas, 1);
    const double* __restrict const az = pointer(areas, 2);
    const double* __restrict const tx = gradient[0];
    const double* __restrict const ty = gradient[1];
    const double* __restrict const tz = gradient[2];
    const double* __restrict const ux = rows_[velocity];
    const double* __restrict const uy = rows_[velocity + 1];
    const double* __restrict const uz = rows_[velocity + 2];
    const double* __restrict const vx = rows_[velocity + 3];
    const double* __restrict const vy = rows_[velocity + 4];
    const double* __restrict const vz = rows_[velocity + 5];
    const double* __restrict const wx = rows_[velocity + 6];
    const double* __restrict const wy = rows_[velocity + 7];
    const double* __restrict const wz = rows_[velocity + 8];
    const double* __restrict const u = pointer(block.primitive, Primitive::u);
    const double* __restrict const v = pointer(block.primitive, Primitive::v);
    const double* __restrict const w = pointer(block.primitive, Primitive::w);
    double* __restrict const fu = fluxes[at.momentum];
    double* __restrict const fv = fluxes[at.momentum + 1];
    double* __restrict const fw = fluxes[at.momentum + 2];
    double* __restrict const fe = fluxes[at.energy];
    for (std::int64_t n = 0; n < row.size; ++n) {
        const double m = mu[n] + eddies[n];
        const double bulk = -2. / 3 * (ux[n] + vy[n] + wz[n]);
        const double xx = 2 * ux[n] + bulk, yy = 2 * vy[n] + bulk, zz = 2 * wz[n] + bulk;
        const double xy = uy[n] + vx[n], xz = uz[n] + wx[n], yz = vz[n] + wy[n];
        const double sx = m * (xx * ax[n] + xy * ay[n] + xz * az[n]);
        const double sy = m * (xy * ax[n] + yy * ay[n] + yz * az[n]);
        const double sz = m * (xz * ax[n] + yz * ay[n] + zz * az[n]);
        fu[n] -= sx;
        fv[n] -= sy;
        fw[n] -= sz;
        fe[n] -= 0.5 * ((u[n - s] + u[n]) * sx + (v[n - s] + v[n]) * sy + (w[n - s] + w[n]) * sz) +
                 lambda[n] * (tx[n] * ax[n] + ty[n] * ay[n] + tz[n] * az[n]);
    }
    if (species == 1)
        return;

    // Fick's law, with a correction by which the fluxes of all species sum to zero.
    double* __restrict const sum = rows_[correction];
    std::fill_n(sum, row.size, 0.);
    for (std::size_t k = 0; k < species; ++k) {
        const double* __restrict const part = pointer(block.conserved, static_cast<int>(k));
        double* __restrict const flux = rows_[count + k];
        set_gradient(rows_, axes, row, strides, FractionRow{part, rho}, gradient);
        for (std::int64_t n = 0; n < row.size; ++n) {
            flux[n] = -mass_diffusivity[n] * (tx[n] * ax[n] + ty[n] * ay[n] + tz[n] * az[n]);
            sum[n] += flux[n];
        }
    }
    for (std::size_t k = 0; k < species; ++k) {
        const Species& of = gas.species[k];
        const double* __restrict const part = pointer(block.conserved, static_cast<int>(k));
        const double* __restrict const flux = rows_[count + k];
        double* __restrict const out = fluxes[k];
        double* __restrict const h = rows_[enthalpy];
        for (std::int64_t n = 0; n < row.size; ++n)
            h[n] = 0.5 * (T[n - s] + T[n]);
        if (gas.polynomials)
            gas.polynomials->set_enthalpies(static_cast<int>(k),
                                            {h, static_cast<std::size_t>(row.size)},
                                            {h, static_cast<std::size_t>(row.size)});
        else
            for (std::int64_t n = 0; n < row.size; ++n)
                h[n] = (of.heat_capacity + of.gas_constant) * h[n] + of.formation_energy;
        for (std::int64_t n = 0; n < row.size; ++n) {
            const double mean = 0.5 * (part[n - s] / rho[n - s] + part[n] / rho[n]);
            const double corrected = flux[n] - mean * sum[n];
            out[n] += corrected;
            fe[n] += h[n] * corrected;
        }
    }
}

void Diffusion::add_eddies(const FlowBlock& block, const SideRow& row) {
    const double* const mine = &block.volumes(row.first);
    const std::int64_t s = block.volumes.strides()[row.axis];
    const double* const rho = &block.primitive(row.first, Primitive::density);
    const std::int64_t cell = block.primitive.strides()[row.axis];
    for (std::int64_t n = 0; n < row.size; ++n) {
        double g[9];
        for (std::size_t k = 0; k < 9; ++k)
            g[k] = rows_[velocity + k][n];
        rows_[turbulent][n] = 0.5 * (rho[n - cell] + rho[n]) *
                              eddy_viscosity(flow_.subgrid, g, 0.5 * (mine[n - s] + mine[n]));
    }
}

void set_transport(const Gas& gas, const FlowBlock& block, const Box<3>& cells,
                   const View<double>& transport) {
    std::array<const double*, Mixture::max_species> parts{};
    domain::for_rows(cells, [&](const Index<3>& first, std::int64_t size) {
        for (int s = 0; s < gas.size(); ++s)
            parts[static_cast<std::size_t>(s)] = &block.conserved(first, s);
        const auto length = static_cast<std::size_t>(size);
        gas.transport->set({parts.data(), static_cast<std::size_t>(gas.size())},
                           {&block.primitive(first, Primitive::temperature), length},
                           {&transport(first, 0), length}, {&transport(first, 1), length});
    });
}

double largest_diffusivity(const Gas& gas, const FlowBlock& block, const Index<3>& cell) {
    const View<const double>& q = block.primitive;
    const double rho = q(cell, Primitive::density);
    if (!gas.transport) { // 1.7 bounds the ratio of the heat capacities
        const double least = std::min({0.75, gas.prandtl / 1.7, gas.schmidt});
        return gas.viscosity_at(q(cell, Primitive::temperature)) / rho / least;
    }
    const double nu = block.transport(cell, 0) / rho;
    const double heat = q(cell, Primitive::internal_energy) / q(cell, Primitive::temperature);
    const double at_pressure =
        heat + q(cell, Primitive::pressure) / q(cell, Primitive::temperature);
    const double conductivity = block.transport(cell, 1);
    const double species =
        gas.lewis > 0 ? conductivity / (at_pressure * gas.lewis) : nu / gas.schmidt;
    return std::max({nu / 0.75, conductivity / heat, gas.size() > 1 ? species : 0.});
}

double eddy_viscosity(Subgrid model, const FlowBlock& block, std::size_t axes,
                      const Index<3>& cell) {
    const double volume = block.volumes(cell);
    double g[9]{}; // by Gauss's theorem
    for (std::size_t a = 0; a < axes; ++a) {
        const Index<3> above = moved(cell, a, 1), below = moved(cell, a, -1);
        for (int i = 0; i < 3; ++i) {
            const double u = block.primitive(cell, i);
            const double upper = 0.5 * (u + block.primitive(above, i)) / volume;
            const double lower = 0.5 * (u + block.primitive(below, i)) / volume;
            for (int j = 0; j < 3; ++j)
                g[3 * i + j] += upper * block.areas[a](above, j) - lower * block.areas[a](cell, j);
        }
    }
    return eddy_viscosity(model, g, volume);
}

double eddy_viscosity(Subgrid model, const double (&g)[9], double volume) {
    const double width = std::cbrt(volume);
    double b[3][3]; // products of gradients: of the columns for Vreman's model and sigma's
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j)
            b[i][j] = g[i] * g[j] + g[3 + i] * g[3 + j] + g[6 + i] * g[6 + j];
    const double trace = b[0][0] + b[1][1] + b[2][2];
    if (!(trace > 0))
        return 0;
    const double minors = b[0][0] * b[1][1] - b[0][1] * b[0][1] + b[0][0] * b[2][2] -
                          b[0][2] * b[0][2] + b[1][1] * b[2][2] - b[1][2] * b[1][2];
    switch (model) {
    case Subgrid::none:
        return 0;
    case Subgrid::vreman:
        return 0.07 * width * width * std::sqrt(std::max(minors, 0.) / trace);
    case Subgrid::wale: {
        double strain = 0, wale = 0, square_trace = 0;
        double square[3][3];
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 3; ++j)
                square[i][j] = g[3 * i] * g[j] + g[3 * i + 1] * g[3 + j] + g[3 * i + 2] * g[6 + j];
        square_trace = square[0][0] + square[1][1] + square[2][2];
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 3; ++j) {
                const double s = 0.5 * (g[3 * i + j] + g[3 * j + i]);
                const double sd =
                    0.5 * (square[i][j] + square[j][i]) - (i == j ? square_trace / 3 : 0);
                strain += s * s;
                wale += sd * sd;
            }
        const double denominator = std::pow(strain, 2.5) + std::pow(wale, 1.25);
        return denominator > 0 ? 0.325 * 0.325 * width * width * std::pow(wale, 1.5) / denominator
                               : 0;
    }
    case Subgrid::sigma: {
        // Singular values of the gradient: square roots of the eigenvalues of b.
        const double determinant = b[0][0] * (b[1][1] * b[2][2] - b[1][2] * b[1][2]) -
                                   b[0][1] * (b[0][1] * b[2][2] - b[1][2] * b[0][2]) +
                                   b[0][2] * (b[0][1] * b[1][2] - b[1][1] * b[0][2]);
        const double mean = trace / 3;
        const double a1 = mean * mean - minors / 3;
        if (!(a1 > 0))
            return 0; // three equal values
        const double a2 = mean * mean * mean - mean * minors / 2 + determinant / 2;
        const double angle = std::acos(std::clamp(a2 / (a1 * std::sqrt(a1)), -1., 1.)) / 3;
        const double root = 2 * std::sqrt(a1);
        constexpr double third = 1.0471975511965976; // pi / 3
        const double s1 = std::sqrt(std::max(mean + root * std::cos(angle), 0.));
        const double s2 = std::sqrt(std::max(mean - root * std::cos(third + angle), 0.));
        const double s3 = std::sqrt(std::max(mean - root * std::cos(third - angle), 0.));
        const double value = s1 > 0 ? s3 * (s1 - s2) * (s2 - s3) / (s1 * s1) : 0;
        return 1.35 * 1.35 * width * width * std::max(value, 0.);
    }
    }
    return 0;
}

} // namespace uzushio::jet
