#include "solvers/phasefield/rows.hpp"

#include <cmath>
#include <cstdint>
#include <type_traits>

// Compiled with -ffp-contract=off: fused operations are explicit, and identical in all lanes.
//
// The loops take their parameters by value: the compiler would reload references after each store.

namespace uzushio::phasefield {

namespace {

/// Weights of an observed row, and whether large residuals count linearly.
enum class ObservationWeight { none, uniform, pointwise, uniform_huber, pointwise_huber };

constexpr bool is_huber(ObservationWeight weighting) {
    return weighting == ObservationWeight::uniform_huber ||
           weighting == ObservationWeight::pointwise_huber;
}

constexpr bool is_pointwise(ObservationWeight weighting) {
    return weighting == ObservationWeight::pointwise ||
           weighting == ObservationWeight::pointwise_huber;
}

template <ObservationWeight weighting>
using WeightKind = std::integral_constant<ObservationWeight, weighting>;

/// Call `work` with the weights' kind as a constant, without Huber's.
template <class Work>
UZUSHIO_INLINE void with_squared_kind(const ObservedRow& observed, Work&& work) {
    if (!observed.values)
        work(WeightKind<ObservationWeight::none>{});
    else if (!observed.weights)
        work(WeightKind<ObservationWeight::uniform>{});
    else
        work(WeightKind<ObservationWeight::pointwise>{});
}

/// Call `work` with the weights' kind as a constant.
template <class Work>
UZUSHIO_INLINE void with_weight_kind(const ObservedRow& observed, Work&& work) {
    if (!observed.values || std::isinf(observed.huber))
        with_squared_kind(observed, work);
    else if (!observed.weights)
        work(WeightKind<ObservationWeight::uniform_huber>{});
    else
        work(WeightKind<ObservationWeight::pointwise_huber>{});
}

/// Call `work` with `flag` as a constant.
template <class Work> UZUSHIO_INLINE void with_flag(bool flag, Work&& work) {
    if (flag)
        work(std::true_type{});
    else
        work(std::false_type{});
}

/// φ (1 − φ).
UZUSHIO_INLINE Lanes phase_product(Lanes phi) { return fused(-phi, phi, phi); }

/// L(φ) v of equation (5), with b R'(φ) by Horner's rule.
struct LinearStep {
    Lanes a, cubic, square, constant;

    explicit LinearStep(const Coefficients& c)
        : a(broadcast(c.a)), cubic(broadcast(-3.0 * c.b)),
          square(broadcast(c.b * (4.0 - 2.0 * c.m))), constant(broadcast(c.b * (c.m - 1.0))) {}

    template <class Part>
    [[nodiscard]] UZUSHIO_INLINE Lanes operator()(const FivePointRows& rows, std::ptrdiff_t x,
                                                  Part part, const Neighbours& neighbours,
                                                  Lanes phi) const {
        const Lanes diffused = fused(a, rows.laplacian(x, part, neighbours), neighbours.centre);
        const Lanes slope = fused(phi, fused(cubic, phi, square), constant);
        return fused(slope, neighbours.centre, diffused);
    }
};

/// Limit of the residuals of a row: ± huber standard deviations; none unless large ones count
/// linearly.
template <ObservationWeight weighting> struct Limit {
    Lanes value{}; ///< in standard deviations, or of the residual for a uniform weight

    explicit Limit(const ObservedRow& observed) {
        if constexpr (weighting == ObservationWeight::uniform_huber)
            value = broadcast(observed.huber / std::sqrt(observed.weight));
        else if constexpr (weighting == ObservationWeight::pointwise_huber)
            value = broadcast(observed.huber);
    }

    [[nodiscard]] UZUSHIO_INLINE Lanes operator()(Lanes weight, Lanes residual) const {
        if constexpr (weighting == ObservationWeight::uniform_huber)
            return limited(residual, value);
        else if constexpr (weighting == ObservationWeight::pointwise_huber)
            return limited(residual, value / square_root(weight));
        else
            return residual;
    }
};

/// Term of the misfit: the squared residual, times the weight if it is pointwise; 0 where the
/// weight is 0, for any residual (NaN too). `bounded` is the result of `Limit`.
template <ObservationWeight weighting>
UZUSHIO_INLINE Lanes weighted_square(Lanes weight, Lanes residual, Lanes bounded) {
    Lanes square;
    if constexpr (is_huber(weighting))
        square = bounded * ((residual + residual) - bounded);
    else
        square = residual * residual;
    if constexpr (is_pointwise(weighting))
        return select_positive(weight, weight * square);
    else
        return square;
}

/// Term of the misfit of φ.
template <ObservationWeight weighting, class Part>
UZUSHIO_INLINE Lanes squared_residual(const ObservedRow& observed, const Limit<weighting>& limit,
                                      std::ptrdiff_t x, Part part, Lanes phi) {
    const Lanes residual = phi - observed.values.load(x, part);
    const Lanes weight = is_pointwise(weighting) ? observed.weights.load(x, part) : Lanes{};
    return weighted_square<weighting>(weight, residual, limit(weight, residual));
}

template <ObservationWeight weighting, bool keeps>
UZUSHIO_INLINE void forward(Coefficients c, FivePointRows rows, std::ptrdiff_t begin,
                            std::ptrdiff_t end, const double* aligned, double* keep,
                            ObservedRow observed, LaneSum& misfit) {
    const Lanes a = broadcast(c.a), b = broadcast(c.b), bm = broadcast(c.b * (c.m - 1.0));
    const Limit<weighting> limit(observed);
    LaneSum sum = weighting != ObservationWeight::none ? misfit : LaneSum{};
    const auto update = [&](std::ptrdiff_t x, auto part,
                            const Neighbours& neighbours) UZUSHIO_INLINE_LAMBDA {
        const Lanes phi = neighbours.centre; // equation (2): φ + a Λφ + b φ (1 − φ) (φ + m − 1)
        const Lanes diffused = fused(a, rows.laplacian(x, part, neighbours), phi);
        const Lanes next = fused(phase_product(phi), fused(b, phi, bm), diffused);
        part.store(rows.out + x, next);
        if constexpr (keeps)
            part.stream(keep + x, phi);
        if constexpr (weighting != ObservationWeight::none)
            sum.add(squared_residual<weighting>(observed, limit, x, part, next));
    };
    for_each_neighbours(rows.here, begin, end, aligned, update);
    if constexpr (weighting != ObservationWeight::none)
        misfit = sum;
}

/// Call `work` with `terms` as a constant.
template <class Work> UZUSHIO_INLINE void with_terms(AdjointTerms terms, Work&& work) {
    switch (terms) {
    case AdjointTerms::none:
        return work(std::integral_constant<AdjointTerms, AdjointTerms::none>{});
    case AdjointTerms::gradient:
        return work(std::integral_constant<AdjointTerms, AdjointTerms::gradient>{});
    case AdjointTerms::gradient_and_misfit:
        return work(std::integral_constant<AdjointTerms, AdjointTerms::gradient_and_misfit>{});
    }
}

template <ObservationWeight weighting, bool keeps, AdjointTerms terms>
void adjoint(Coefficients c, FivePointRows rows, std::ptrdiff_t begin, std::ptrdiff_t end,
             PrefetchedRow phi, double* keep, ObservedRow observed, AdjointSums& sums) {
    const LinearStep linear(c);
    const Lanes weight = broadcast(observed.weight);
    const Limit<weighting> limit(observed);
    AdjointSums sum = sums;
    const auto update = [&](std::ptrdiff_t x, auto part,
                            const Neighbours& neighbours) UZUSHIO_INLINE_LAMBDA {
        const Lanes lambda = neighbours.centre;
        const Lanes here = phi.load(x, part);
        Lanes next = linear(rows, x, part, neighbours, here);
        if constexpr (weighting != ObservationWeight::none) {
            const Lanes residual = here - observed.values.load(x, part);
            const Lanes each = is_pointwise(weighting) ? observed.weights.load(x, part) : weight;
            const Lanes bounded = limit(each, residual);
            if constexpr (is_pointwise(weighting))
                next += select_positive(each, each * bounded);
            else
                next = fused(each, bounded, next);
            if constexpr (terms == AdjointTerms::gradient_and_misfit)
                sum.misfit.add(weighted_square<weighting>(each, residual, bounded));
        }
        part.store(rows.out + x, next);
        if constexpr (keeps)
            part.stream(keep + x, lambda);
        if constexpr (terms != AdjointTerms::none)
            sum.gradient.add(phase_product(here) * lambda);
    };
    for_each_neighbours(rows.here, begin, end, keep ? keep : rows.out, update);
    if constexpr (terms != AdjointTerms::none)
        sums = sum;
}

template <bool keeps>
void tangent(Coefficients c, FivePointRows rows, std::ptrdiff_t begin, std::ptrdiff_t end,
             PrefetchedRow phi, double* keep) {
    const LinearStep linear(c);
    const Lanes forcing = broadcast(c.b * c.dm);
    const auto update = [&](std::ptrdiff_t x, auto part, const Neighbours& neighbours)
                            UZUSHIO_INLINE_LAMBDA {
                                const Lanes value = neighbours.centre;
                                const Lanes here = phi.load(x, part);
                                const Lanes next = linear(rows, x, part, neighbours, here);
                                part.store(rows.out + x, fused(forcing, phase_product(here), next));
                                if constexpr (keeps)
                                    part.stream(keep + x, value);
                            };
    for_each_neighbours(rows.here, begin, end, keep ? keep : rows.out, update);
}

template <ObservationWeight weighting, bool full, bool sums>
void second_order(Coefficients c, FivePointRows rows, std::ptrdiff_t begin, std::ptrdiff_t end,
                  PrefetchedRow phi, PrefetchedRow dphi, PrefetchedRow lambda, ObservedRow observed,
                  LaneSum* gradient) {
    const LinearStep linear(c);
    const Lanes b = broadcast(c.b), dm = broadcast(c.dm), square = broadcast(4.0 - 2.0 * c.m);
    LaneSum sum = sums ? *gradient : LaneSum{};
    const auto update = [&](std::ptrdiff_t x, auto part,
                            const Neighbours& neighbours) UZUSHIO_INLINE_LAMBDA {
        const Lanes value = neighbours.centre;
        const Lanes here = phi.load(x, part);
        const Lanes tangent = dphi.load(x, part);
        Lanes next = linear(rows, x, part, neighbours, here);
        Lanes term = phase_product(here) * value;
        if constexpr (full) {
            const Lanes after = lambda.load(x, part);
            const Lanes phase_slope = fused(broadcast(-2.0), here, broadcast(1.0));
            const Lanes curvature = fused(broadcast(-6.0), here, square);
            next = fused(fused(curvature, tangent, phase_slope * dm), b * after, next);
            term = fused(phase_slope * tangent, after, term);
        }
        if constexpr (weighting == ObservationWeight::uniform)
            next = fused(broadcast(observed.weight), tangent, next);
        else if constexpr (weighting == ObservationWeight::pointwise)
            next = fused(observed.weights.load(x, part), tangent, next);
        part.store(rows.out + x, next);
        if constexpr (sums)
            sum.add(term);
    };
    for_each_neighbours(rows.here, begin, end, nullptr, update);
    if constexpr (sums)
        *gradient = sum;
}

} // namespace

void forward_row(const Coefficients& c, const FivePointRows& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, double* keep, const ObservedRow& observed, LaneSum& misfit) {
    with_weight_kind(observed, [&](auto weighting) {
        with_flag(keep != nullptr, [&](auto keeps) {
            forward<weighting, keeps>(c, rows, begin, end, keep ? keep : rows.out, keep, observed,
                                      misfit);
        });
    });
}

void forward_rows(const Coefficients& c, FivePointRows rows, std::ptrdiff_t begin,
                  std::ptrdiff_t end, int count, std::ptrdiff_t stride) {
    const Coefficients same = c;
    LaneSum none;
    // Rows whose beginning is aligned to 64 bytes need no leading partial vector.
    const bool aligned = reinterpret_cast<std::uintptr_t>(rows.out + begin) % sizeof(Lanes) == 0;
    for (int i = 0; i < count; ++i) {
        forward<ObservationWeight::none, false>(same, rows, begin, end,
                                                aligned ? nullptr : rows.out, nullptr, {}, none);
        rows.below += stride;
        rows.here += stride;
        rows.above += stride;
        rows.out += stride;
    }
}

void adjoint_row(const Coefficients& c, const FivePointRows& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, const PrefetchedRow& phi, double* keep,
                 const ObservedRow& observed, AdjointTerms terms, AdjointSums& sums) {
    with_weight_kind(observed, [&](auto weighting) {
        with_flag(keep != nullptr, [&](auto keeps) {
            with_terms(terms, [&](auto which) {
                adjoint<weighting, keeps, which>(c, rows, begin, end, phi, keep, observed, sums);
            });
        });
    });
}

void tangent_row(const Coefficients& c, const FivePointRows& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, const PrefetchedRow& phi, double* keep) {
    with_flag(keep != nullptr, [&](auto keeps) { tangent<keeps>(c, rows, begin, end, phi, keep); });
}

void second_order_row(const Coefficients& c, const FivePointRows& rows, std::ptrdiff_t begin,
                      std::ptrdiff_t end, const PrefetchedRow& phi, const PrefetchedRow& dphi,
                      const PrefetchedRow& lambda, const ObservedRow& observed, LaneSum* gradient) {
    with_squared_kind(observed, [&](auto weighting) {
        with_flag(bool(lambda), [&](auto full) {
            with_flag(gradient != nullptr, [&](auto sums) {
                second_order<weighting, full, sums>(c, rows, begin, end, phi, dphi, lambda,
                                                    observed, gradient);
            });
        });
    });
}

void misfit_row(std::ptrdiff_t begin, std::ptrdiff_t end, const double* phi,
                const ObservedRow& observed, LaneSum& misfit) {
    with_weight_kind(observed, [&](auto weighting) {
        if constexpr (weighting != ObservationWeight::none) {
            const Limit<weighting> limit(observed);
            for_each_lanes(
                begin, end, nullptr, [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
                    const Lanes here = part.load(phi + x);
                    misfit.add(squared_residual<weighting>(observed, limit, x, part, here));
                });
        }
    });
}

void copy_row(std::ptrdiff_t begin, std::ptrdiff_t end, const PrefetchedRow& from, double* to) {
    for_each_lanes(begin, end, to, [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
        part.store(to + x, from.load(x, part));
    });
}

} // namespace uzushio::phasefield
