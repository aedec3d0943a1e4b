#include "domain/time_integrator.hpp"

#include <stdexcept>
#include <string>

#include "domain/parts.hpp"

namespace uzushio::domain {
namespace {

/// Stage of a scheme: `time` in units of the step, then the coefficients of the scheme's formula.
struct Stage {
    double time;
    double a;
    double b;
};

/// u = a u_n + b (u + dt f).
constexpr Stage ssp[] = {{0, 0, 1}, {1, 3. / 4, 1. / 4}, {1. / 2, 1. / 3, 2. / 3}};

/// u = u + dt (a f + b f_before).
constexpr Stage wray[] = {
    {0, 8. / 15, 0}, {8. / 15, 5. / 12, -17. / 60}, {2. / 3, 3. / 4, -5. / 12}};

/// d = a d + dt f, u = u + b d. Table 1 of the paper, solution 3.
constexpr Stage carpenter_kennedy[] = {
    {0, 0, 1432997174477. / 9575080441755.},
    {1432997174477. / 9575080441755., -567301805773. / 1357537059087.,
     5161836677717. / 13612068292357.},
    {2526269341429. / 6820363962896., -2404267990393. / 2016746695238.,
     1720146321549. / 2090206949498.},
    {2006345519317. / 3224310063776., -3550918686646. / 2091501179385.,
     3134564353537. / 4481467310338.},
    {2802321613138. / 2924317926251., -1275806237668. / 842570457699.,
     2277821191437. / 14882151754819.}};

std::span<const Stage> scheme_stages(TimeScheme scheme) {
    switch (scheme) {
    case TimeScheme::ssp_rk3:
        return ssp;
    case TimeScheme::wray_rk3:
        return wray;
    case TimeScheme::carpenter_kennedy_rk4:
        return carpenter_kennedy;
    }
    throw std::invalid_argument("there is no such time scheme");
}

} // namespace

TimeScheme time_scheme(std::string_view name) {
    if (name == "ssp_rk3")
        return TimeScheme::ssp_rk3;
    if (name == "wray_rk3")
        return TimeScheme::wray_rk3;
    if (name == "carpenter_kennedy_rk4")
        return TimeScheme::carpenter_kennedy_rk4;
    throw std::invalid_argument(
        "a time scheme is ssp_rk3, wray_rk3 or carpenter_kennedy_rk4, not '" + std::string(name) +
        "'");
}

int stages_of(TimeScheme scheme) { return static_cast<int>(scheme_stages(scheme).size()); }

namespace {

/// Return the weight of a stage's derivative in the mean over the step.
double weight_of(TimeScheme scheme, std::size_t stage) {
    const std::span<const Stage> stages = scheme_stages(scheme);
    if (scheme == TimeScheme::wray_rk3)
        return stages[stage].a + (stage + 1 < stages.size() ? stages[stage + 1].b : 0);
    double weight = stages[stage].b, carried = 1;
    for (std::size_t next = stage + 1; next < stages.size(); ++next)
        if (scheme == TimeScheme::ssp_rk3) {
            weight *= stages[next].b;
        } else {
            carried *= stages[next].a;
            weight += carried * stages[next].b;
        }
    return weight;
}

/// Arrays of the state, of its derivative and of its register in a block.
template <class T> struct Arrays {
    View<T> u, f, r;
};

template <class T>
void advance_arrays(TimeScheme scheme, std::size_t index, double dt,
                    const std::vector<Arrays<T>>& arrays, std::span<const Box<3>> owned) {
    const Stage& stage = scheme_stages(scheme)[index];
    const bool first = index == 0;
    const auto a = static_cast<T>(stage.a), b = static_cast<T>(stage.b), h = static_cast<T>(dt);
    const auto run = [&](auto&& update) {
        for_parts(owned, [&](std::size_t n, const Box<3>& part) {
            const auto& [u, f, r] = arrays[n];
            for (int c = 0; c < u.components(); ++c)
                for_rows(part, [&, u = u, f = f, r = r](const Index<3>& begin, std::int64_t count) {
                    T* __restrict to = &u(begin, c);
                    T* __restrict from = &f(begin, c);
                    T* __restrict kept = &r(begin, c);
                    for (std::int64_t i = 0; i < count; ++i)
                        update(to[i], from[i], kept[i]);
                });
        });
    };
    // A register of the first stage holds the last step's values, which may be NaN: it is not read.
    switch (scheme) {
    case TimeScheme::ssp_rk3:
        if (first)
            run([&](T& u, T f, T& r) { r = u, u = u + h * f; });
        else
            run([&](T& u, T f, T& r) { u = a * r + b * (u + h * f); });
        break;
    case TimeScheme::wray_rk3:
        if (first)
            run([&](T& u, T f, T& r) { u = u + h * (a * f), r = f; });
        else
            run([&](T& u, T f, T& r) { u = u + h * (a * f + b * r), r = f; });
        break;
    case TimeScheme::carpenter_kennedy_rk4:
        if (first)
            run([&](T& u, T f, T& r) { r = h * f, u = u + b * r; });
        else
            run([&](T& u, T f, T& r) { r = a * r + h * f, u = u + b * r; });
        break;
    }
}

} // namespace

template <class T>
TimeIntegrator<T>::TimeIntegrator(TimeScheme scheme, const Decomposition& decomposition, int rank,
                                  const std::vector<FieldSpec>& specs)
    : scheme_(scheme) {
    for (FieldSpec spec : specs) {
        spec.ghosts = 0;
        derivative_.emplace_back(decomposition, rank, spec);
        register_.emplace_back(decomposition, rank, spec);
    }
    for (Field<T>& field : derivative_)
        derivatives_.push_back(&field);
    for (const Field<T>& field : derivative_)
        for (std::size_t b = 0; b < field.blocks(); ++b)
            for (std::size_t array = 0; array < field.arrays(); ++array)
                values_ +=
                    static_cast<double>(field.owned(b, array).volume()) * field.spec().components;
    const std::span<const Stage> stages = scheme_stages(scheme);
    for (std::size_t n = 0; n < stages.size(); ++n) {
        const double begin = stages[n].time, end = n + 1 < stages.size() ? stages[n + 1].time : 1;
        // SSP-RK3 begins its later stages with a mean of two states.
        const double length = scheme == TimeScheme::ssp_rk3 ? stages[n].b : end - begin;
        stages_.push_back({.index = static_cast<int>(n),
                           .count = stages_of(scheme),
                           .begin = begin,
                           .end = end,
                           .length = length,
                           .weight = weight_of(scheme, n)});
    }
}

template <class T>
void TimeIntegrator<T>::advance(const StageInfo& stage, double dt,
                                std::span<Field<T>* const> state) {
    bool same = state.size() == derivative_.size();
    for (std::size_t f = 0; same && f < state.size(); ++f)
        same = state[f]->spec().components == derivative_[f].spec().components &&
               state[f]->spec().centring == derivative_[f].spec().centring &&
               state[f]->blocks() == derivative_[f].blocks();
    if (!same)
        throw std::invalid_argument(
            "the fields do not have the specifications of the time integrator");
    std::vector<Arrays<T>> arrays;
    std::vector<Box<3>> owned;
    for (std::size_t f = 0; f < state.size(); ++f)
        for (std::size_t b = 0; b < state[f]->blocks(); ++b)
            for (std::size_t array = 0; array < state[f]->arrays(); ++array) {
                arrays.push_back({state[f]->view(b, array), derivative_[f].view(b, array),
                                  register_[f].view(b, array)});
                owned.push_back(state[f]->owned(b, array));
            }
    advance_arrays(scheme_, static_cast<std::size_t>(stage.index), dt, arrays, owned);
}

template <class T> parallel::Work TimeIntegrator<T>::work(const StageInfo& stage) const {
    // State, derivative and register are read, state and register written, as far as they are used.
    const bool is_ssp = scheme_ == TimeScheme::ssp_rk3;
    const double flops = stage.is_first() ? (is_ssp ? 2 : 3) : 5;
    const double moves = stage.is_first() || is_ssp ? 4 : 5;
    return {values_ * flops, values_ * moves * sizeof(T)};
}

template class TimeIntegrator<double>;
template class TimeIntegrator<float>;

} // namespace uzushio::domain
