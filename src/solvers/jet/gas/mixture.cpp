#include "solvers/jet/gas/mixture.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace uzushio::jet {

namespace {

constexpr std::size_t block_size = 64; ///< cells whose coefficients fit the first cache
constexpr int max_iterations = 12;
constexpr int max_search_iterations = 100;
constexpr double tolerance = 1e-8; ///< of a Newton step; the error after it is about its square
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double heat_capacity_of(const ThermoRange& range, double T) {
    const auto& a = range.cp;
    return (a[0] / T + a[1]) / T + a[2] + T * (a[3] + T * (a[4] + T * (a[5] + T * a[6])));
}

double enthalpy_of(const ThermoRange& range, double T) {
    const auto& a = range.cp;
    double h = range.enthalpy +
               T * (a[2] + T * (a[3] / 2 + T * (a[4] / 3 + T * (a[5] / 4 + T * a[6] / 5))));
    if (a[0] != 0 || a[1] != 0)
        h += a[1] * std::log(T) - a[0] / T;
    return h;
}

double entropy_of(const ThermoRange& range, double T) {
    const auto& a = range.cp;
    return range.entropy - a[0] / (2 * T * T) - a[1] / T + a[2] * std::log(T) +
           T * (a[3] + T * (a[4] / 2 + T * (a[5] / 3 + T * a[6] / 4)));
}

/// Return the range of constant heat capacity that continues another beyond a temperature.
ThermoRange continued(const ThermoRange& range, double T, double lower, double upper) {
    ThermoRange beyond{lower, upper, {}, 0, 0};
    beyond.cp[2] = heat_capacity_of(range, T);
    beyond.enthalpy = enthalpy_of(range, T) - beyond.cp[2] * T;
    beyond.entropy = entropy_of(range, T) - beyond.cp[2] * std::log(T);
    return beyond;
}

void check(const GasSpecies& species) {
    const std::string name = "species '" + species.name + "'";
    if (!(species.molar_mass > 0))
        throw std::invalid_argument(name + ": its molar mass must be positive");
    if (species.ranges.empty())
        throw std::invalid_argument(name + ": it has no heat capacity");
    for (std::size_t r = 0; r < species.ranges.size(); ++r) {
        const ThermoRange& range = species.ranges[r];
        if (!(range.lower >= 0 && range.lower < range.upper) ||
            (r > 0 && species.ranges[r - 1].upper != range.lower))
            throw std::invalid_argument(name + ": its temperature ranges must follow each other");
        for (const double T : {range.lower, range.upper})
            if (T > 0 && T < infinity && !(heat_capacity_of(range, T) > 1))
                throw std::invalid_argument(name +
                                            ": its heat capacity must exceed the gas constant");
        const bool is_bounded = range.lower > 0 && range.upper < infinity;
        const bool is_constant =
            std::ranges::count(range.cp, 0.0) + (range.cp[2] != 0) == std::ssize(range.cp);
        if (!is_bounded && !is_constant)
            throw std::invalid_argument(name + ": a polynomial needs two temperatures");
        if (!(range.cp[2] > 1) && is_constant)
            throw std::invalid_argument(name + ": its heat capacity must exceed the gas constant");
    }
}

} // namespace

Mixture::Mixture(std::vector<GasSpecies> species, double reference_pressure)
    : species_(std::move(species)), reference_pressure_(reference_pressure) {
    if (species_.empty() || species_.size() > max_species)
        throw std::invalid_argument("a mixture has 1 to 10 species");
    std::vector<std::vector<ThermoRange>> extended;
    for (const GasSpecies& one : species_) {
        check(one);
        constants_.push_back(molar_gas_constant / one.molar_mass);
        auto ranges = one.ranges;
        if (ranges.front().lower > 0)
            ranges.insert(ranges.begin(),
                          continued(ranges.front(), ranges.front().lower, 0, ranges.front().lower));
        if (ranges.back().upper < infinity)
            ranges.push_back(
                continued(ranges.back(), ranges.back().upper, ranges.back().upper, infinity));
        for (std::size_t r = 1; r < ranges.size(); ++r)
            bounds_.push_back(ranges[r].lower);
        extended.push_back(std::move(ranges));
    }
    std::ranges::sort(bounds_);
    bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
    is_perfect_ = bounds_.empty();
    for (std::size_t r = 0; r <= bounds_.size(); ++r) {
        const double lower = r == 0 ? 0 : bounds_[r - 1];
        for (std::size_t s = 0; s < species_.size(); ++s) {
            const auto range = std::ranges::find_if(
                extended[s], [&](const ThermoRange& one) { return lower < one.upper; });
            const double R = constants_[s];
            Coefficients& to = coefficients_.emplace_back();
            for (std::size_t k = 0; k < 5; ++k)
                to.series[k] = R * range->cp[k + 2] / static_cast<double>(k + 1);
            to.enthalpy = R * range->enthalpy;
            to.entropy = R * range->entropy;
            to.inverse = R * range->cp[0];
            to.logarithmic = R * range->cp[1];
            has_inverses_ = has_inverses_ || to.inverse != 0 || to.logarithmic != 0;
        }
    }
}

std::size_t Mixture::range_of(double temperature) const {
    std::size_t range = 0;
    for (const double bound : bounds_)
        range += temperature >= bound;
    return range;
}

double Mixture::heat_capacity(int species, double T) const {
    const Coefficients& a = at(range_of(T), static_cast<std::size_t>(species));
    const double cp =
        a.series[0] +
        T * (2 * a.series[1] + T * (3 * a.series[2] + T * (4 * a.series[3] + T * 5 * a.series[4])));
    return has_inverses_ ? cp + (a.inverse / T + a.logarithmic) / T : cp;
}

double Mixture::enthalpy(int species, double T) const {
    const Coefficients& a = at(range_of(T), static_cast<std::size_t>(species));
    const double h =
        a.enthalpy +
        T * (a.series[0] +
             T * (a.series[1] + T * (a.series[2] + T * (a.series[3] + T * a.series[4]))));
    return has_inverses_ ? h + (a.logarithmic * std::log(T) - a.inverse / T) : h;
}

double Mixture::entropy(int species, double T) const {
    const Coefficients& a = at(range_of(T), static_cast<std::size_t>(species));
    const auto& c = a.series;
    return a.entropy + c[0] * std::log(T) +
           T * (2 * c[1] + T * (1.5 * c[2] + T * (4. / 3 * c[3] + T * 1.25 * c[4]))) -
           (a.inverse / (2 * T) + a.logarithmic) / T;
}

double Mixture::gas_constant(std::span<const double> weights) const {
    double sum = 0;
    for (std::size_t s = 0; s < species_.size(); ++s)
        sum += weights[s] * constants_[s];
    return sum;
}

double Mixture::heat_capacity(std::span<const double> weights, double temperature) const {
    double sum = 0;
    for (int s = 0; s < size(); ++s)
        sum += weights[static_cast<std::size_t>(s)] * heat_capacity(s, temperature);
    return sum;
}

double Mixture::enthalpy(std::span<const double> weights, double temperature) const {
    double sum = 0;
    for (int s = 0; s < size(); ++s)
        sum += weights[static_cast<std::size_t>(s)] * enthalpy(s, temperature);
    return sum;
}

double Mixture::energy(std::span<const double> weights, double temperature) const {
    return enthalpy(weights, temperature) - gas_constant(weights) * temperature;
}

double Mixture::gamma(std::span<const double> weights, double temperature) const {
    const double cp = heat_capacity(weights, temperature);
    return cp / (cp - gas_constant(weights));
}

double Mixture::sound_speed(std::span<const double> weights, double temperature) const {
    double sum = 0;
    for (std::size_t s = 0; s < species_.size(); ++s)
        sum += weights[s];
    return std::sqrt(gamma(weights, temperature) * gas_constant(weights) / sum * temperature);
}

double Mixture::entropy(std::span<const double> weights, double temperature,
                        double pressure) const {
    double moles = 0;
    for (std::size_t s = 0; s < species_.size(); ++s)
        moles += weights[s] * constants_[s];
    double sum = -moles * std::log(pressure / reference_pressure_);
    for (int s = 0; s < size(); ++s) {
        const double weight = weights[static_cast<std::size_t>(s)];
        sum += weight * entropy(s, temperature);
        const double part = weight * gas_constant(s);
        if (part > 0)
            sum -= part * std::log(part / moles);
    }
    return sum;
}

double Mixture::temperature(std::span<const double> weights, double energy, double guess) const {
    std::array<const double*, max_species> rows{};
    for (std::size_t s = 0; s < species_.size(); ++s)
        rows[s] = &weights[s];
    set_temperatures(Weights(rows.data(), species_.size()), {&energy, 1}, {&guess, 1});
    return guess;
}

/// Return the temperature of an energy by Newton's method with bisection, in the range of
/// temperatures at whose ends the energies are on both sides; NaN if there is none above zero.
double Mixture::search(std::span<const double> weights, double target) const {
    double lower = 0, upper = infinity;
    for (const double bound : bounds_) {
        if (target >= energy(weights, bound)) {
            lower = bound;
        } else {
            upper = bound;
            break;
        }
    }
    double T = lower > 0 ? lower : std::min(upper, 300.0);
    for (int iteration = 0; iteration < max_search_iterations; ++iteration) {
        const double capacity = heat_capacity(weights, T) - gas_constant(weights);
        const double residual = energy(weights, T) - target;
        (residual > 0 ? upper : lower) = T;
        double next = T - residual / capacity;
        if (!std::isfinite(next) || (lower == 0 && next <= 0))
            return nan; // the energy is linear there
        if (next < lower || next > upper)
            next = 0.5 * (lower + upper);
        if (!(std::abs(next - T) > tolerance * T))
            return next;
        T = next;
    }
    return nan;
}

template <bool with_inverses>
std::ptrdiff_t Mixture::set_block(Weights weights, std::size_t first, std::size_t size,
                                  const double* energies, double* temperatures) const {
    alignas(64) double c[6][block_size];
    alignas(64) double inverse[block_size], logarithmic[block_size], step[block_size];
    alignas(64) double T[block_size];
    std::size_t range[block_size];
    bool is_uniform = true;
    for (std::size_t n = 0; n < size; ++n) {
        T[n] = temperatures[n];
        range[n] = range_of(T[n]);
        is_uniform = is_uniform && range[n] == range[0];
    }
    for (std::size_t n = 0; n < size; ++n) {
        c[0][n] = -energies[n];
        c[1][n] = c[2][n] = c[3][n] = c[4][n] = c[5][n] = 0;
        inverse[n] = logarithmic[n] = 0;
    }
    for (std::size_t s = 0; s < species_.size(); ++s) {
        const double R = constants_[s];
        const double* __restrict const w = weights[s] + first;
        const auto add = [&](std::size_t n, const Coefficients& a) {
            c[0][n] += w[n] * a.enthalpy;
            c[1][n] += w[n] * (a.series[0] - R);
            c[2][n] += w[n] * a.series[1];
            c[3][n] += w[n] * a.series[2];
            c[4][n] += w[n] * a.series[3];
            c[5][n] += w[n] * a.series[4];
            if constexpr (with_inverses) {
                inverse[n] += w[n] * a.inverse;
                logarithmic[n] += w[n] * a.logarithmic;
            }
        };
        if (is_uniform) {
            const Coefficients a = at(range[0], s);
            for (std::size_t n = 0; n < size; ++n)
                add(n, a);
        } else {
            for (std::size_t n = 0; n < size; ++n)
                add(n, at(range[n], s));
        }
    }
    for (std::size_t n = 0; n < size; ++n)
        step[n] = infinity;
    for (int iteration = 0; iteration < max_iterations; ++iteration) {
        // A cell stops at its own convergence, whatever its neighbours do.
        double remaining = 0;
        for (std::size_t n = 0; n < size; ++n) {
            const double t = T[n];
            double f = c[0][n] +
                       t * (c[1][n] + t * (c[2][n] + t * (c[3][n] + t * (c[4][n] + t * c[5][n]))));
            double slope = c[1][n] + t * (2 * c[2][n] +
                                          t * (3 * c[3][n] + t * (4 * c[4][n] + t * 5 * c[5][n])));
            if constexpr (with_inverses) {
                f += logarithmic[n] * std::log(t) - inverse[n] / t;
                slope += (inverse[n] / t + logarithmic[n]) / t;
            }
            const double change = step[n] > tolerance * t ? f / slope : 0.0;
            T[n] = t - change;
            step[n] = std::abs(change);
            remaining += step[n] > tolerance * t ? 1.0 : 0.0;
        }
        if (remaining == 0)
            break;
    }
    std::ptrdiff_t failed = -1;
    for (std::size_t n = 0; n < size; ++n) {
        // False also for NaN.
        const bool is_found = T[n] > 0 && step[n] <= tolerance * T[n] && range_of(T[n]) == range[n];
        if (!is_found) {
            std::array<double, max_species> w{};
            for (std::size_t s = 0; s < species_.size(); ++s)
                w[s] = weights[s][first + n];
            T[n] = search({w.data(), species_.size()}, energies[n]);
            if (!(T[n] > 0) && failed < 0)
                failed = static_cast<std::ptrdiff_t>(first + n);
        }
        temperatures[n] = T[n];
    }
    return failed;
}

std::ptrdiff_t Mixture::set_temperatures(Weights weights, std::span<const double> energies,
                                         std::span<double> temperatures) const {
    std::ptrdiff_t failed = -1;
    for (std::size_t first = 0; first < energies.size(); first += block_size) {
        const std::size_t size = std::min(block_size, energies.size() - first);
        const double* __restrict const e = &energies[first];
        double* __restrict const T = &temperatures[first];
        std::ptrdiff_t place = -1;
        if (is_perfect_) {
            alignas(64) double formation[block_size], capacity[block_size];
            for (std::size_t n = 0; n < size; ++n)
                formation[n] = capacity[n] = 0;
            for (std::size_t s = 0; s < species_.size(); ++s) {
                const double* __restrict const w = weights[s] + first;
                const double b = at(0, s).enthalpy, cv = at(0, s).series[0] - constants_[s];
                for (std::size_t n = 0; n < size; ++n) {
                    formation[n] += w[n] * b;
                    capacity[n] += w[n] * cv;
                }
            }
            double wrong = 0;
            for (std::size_t n = 0; n < size; ++n) {
                const double t = (e[n] - formation[n]) / capacity[n];
                T[n] = t > 0 && t < infinity ? t : nan;
                wrong += t > 0 && t < infinity ? 0.0 : 1.0;
            }
            for (std::size_t n = 0; wrong > 0 && n < size && place < 0; ++n)
                if (!(T[n] > 0))
                    place = static_cast<std::ptrdiff_t>(first + n);
        } else if (has_inverses_) {
            place = set_block<true>(weights, first, size, e, T);
        } else {
            place = set_block<false>(weights, first, size, e, T);
        }
        if (failed < 0)
            failed = place;
    }
    return failed;
}

/// Call `store` with the cell, the gas constant, heat capacity and enthalpy of the mixture, the sum
/// of the weights, and the temperature.
template <class Store>
void Mixture::evaluate(Weights weights, std::span<const double> temperatures,
                       const Store& store) const {
    for (std::size_t first = 0; first < temperatures.size(); first += block_size) {
        const std::size_t size = std::min(block_size, temperatures.size() - first);
        const double* __restrict const T = &temperatures[first];
        alignas(64) double sum[block_size], constant[block_size], cp[block_size], h[block_size];
        alignas(64) double logarithm[block_size];
        std::size_t range[block_size];
        bool is_uniform = true;
        for (std::size_t n = 0; n < size; ++n) {
            range[n] = range_of(T[n]);
            is_uniform = is_uniform && range[n] == range[0];
            sum[n] = constant[n] = cp[n] = h[n] = 0;
        }
        for (std::size_t n = 0; has_inverses_ && n < size; ++n)
            logarithm[n] = std::log(T[n]);
        for (std::size_t s = 0; s < species_.size(); ++s) {
            const double R = constants_[s];
            const double* __restrict const w = weights[s] + first;
            const auto add = [&](std::size_t n, const Coefficients& a) {
                const double t = T[n];
                const auto& q = a.series;
                sum[n] += w[n];
                constant[n] += w[n] * R;
                cp[n] +=
                    w[n] * (q[0] + t * (2 * q[1] + t * (3 * q[2] + t * (4 * q[3] + t * 5 * q[4]))));
                h[n] += w[n] *
                        (a.enthalpy + t * (q[0] + t * (q[1] + t * (q[2] + t * (q[3] + t * q[4])))));
            };
            if (is_perfect_) {
                const double q = at(0, s).series[0], formation = at(0, s).enthalpy;
                for (std::size_t n = 0; n < size; ++n) {
                    sum[n] += w[n];
                    constant[n] += w[n] * R;
                    cp[n] += w[n] * q;
                    h[n] += w[n] * (formation + q * T[n]);
                }
            } else if (is_uniform) {
                const Coefficients a = at(range[0], s);
                for (std::size_t n = 0; n < size; ++n)
                    add(n, a);
            } else {
                for (std::size_t n = 0; n < size; ++n)
                    add(n, at(range[n], s));
            }
            for (std::size_t n = 0; has_inverses_ && n < size; ++n) {
                const Coefficients& a = at(range[n], s);
                cp[n] += w[n] * (a.inverse / T[n] + a.logarithmic) / T[n];
                h[n] += w[n] * (a.logarithmic * logarithm[n] - a.inverse / T[n]);
            }
        }
        for (std::size_t n = 0; n < size; ++n)
            store(first + n, constant[n], cp[n], h[n], sum[n], T[n]);
    }
}

void Mixture::set_pressures(Weights densities, std::span<const double> temperatures,
                            std::span<double> pressures, std::span<double> sound_speeds) const {
    double* __restrict const p = pressures.data();
    double* __restrict const a = sound_speeds.data();
    evaluate(densities, temperatures,
             [=](std::size_t n, double R, double cp, double, double rho, double T) {
                 p[n] = R * T;
                 a[n] = std::sqrt(cp * R * T / ((cp - R) * rho));
             });
}

void Mixture::set_energies(Weights weights, std::span<const double> temperatures,
                           std::span<double> heat_capacities, std::span<double> energies) const {
    double* __restrict const capacity = heat_capacities.data();
    double* __restrict const energy = energies.data();
    evaluate(weights, temperatures,
             [=](std::size_t n, double R, double cp, double h, double, double T) {
                 capacity[n] = cp;
                 energy[n] = h - R * T;
             });
}

void Mixture::set_enthalpies(int species, std::span<const double> temperatures,
                             std::span<double> enthalpies) const {
    for (std::size_t n = 0; n < temperatures.size(); ++n)
        enthalpies[n] = enthalpy(species, temperatures[n]);
}

} // namespace uzushio::jet
