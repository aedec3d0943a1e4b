#include "solvers/phasefield/rows.hpp"

#include <cstdint>
#include <type_traits>

// Compiled with -ffp-contract=off: fused operations are explicit, and identical in all lanes.
//
// The loops take their parameters by value: the compiler would reload references after each store.

namespace uzushio::phasefield {

namespace {

/// Weights of an observed row.
enum class ObservationWeight { none, uniform, pointwise };

/// Call `work` with the weights' kind as a constant.
template <class Work>
UZUSHIO_INLINE void with_weight_kind(const ObservedRow& observed, Work&& work) {
    if (!observed.values)
        work(std::integral_constant<ObservationWeight, ObservationWeight::none>{});
    else if (!observed.weights)
        work(std::integral_constant<ObservationWeight, ObservationWeight::uniform>{});
    else
        work(std::integral_constant<ObservationWeight, ObservationWeight::pointwise>{});
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

/// Term of the misfit: the squared residual, times the weight if it is pointwise; 0 where the
/// weight is 0, for any residual (NaN too).
template <ObservationWeight weighting>
UZUSHIO_INLINE Lanes weighted_square(Lanes weight, Lanes residual) {
    if constexpr (weighting == ObservationWeight::uniform)
        return residual * residual;
    return select_positive(weight, weight * (residual * residual));
}

/// Term of the misfit of φ.
template <ObservationWeight weighting, class Part>
UZUSHIO_INLINE Lanes squared_residual(const ObservedRow& observed, std::ptrdiff_t x, Part part,
                                      Lanes phi) {
    const Lanes residual = phi - observed.values.load(x, part);
    return weighted_square<weighting>(
        weighting == ObservationWeight::pointwise ? observed.weights.load(x, part) : Lanes{},
        residual);
}

template <ObservationWeight weighting, bool keeps>
UZUSHIO_INLINE void forward(Coefficients c, FivePointRows rows, std::ptrdiff_t begin,
                            std::ptrdiff_t end, const double* aligned, double* keep,
                            ObservedRow observed, LaneSum& misfit) {
    const Lanes a = broadcast(c.a), b = broadcast(c.b), bm = broadcast(c.b * (c.m - 1.0));
    LaneSum sum = weighting != ObservationWeight::none ? misfit : LaneSum{};
    const auto update = [&](std::ptrdiff_t x, auto part,
                            const Neighbours& neighbours) UZUSHIO_INLINE_LAMBDA {
        const Lanes phi = neighbours.centre;
        const Lanes diffused = fused(a, rows.laplacian(x, part, neighbours), phi);
        const Lanes next = fused(phase_product(phi), fused(b, phi, bm), diffused);
        part.store(rows.out + x, next);
        if constexpr (keeps)
            part.stream(keep + x, phi);
        if constexpr (weighting != ObservationWeight::none)
            sum.add(squared_residual<weighting>(observed, x, part, next));
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
    AdjointSums sum = sums;
    const auto update = [&](std::ptrdiff_t x, auto part,
                            const Neighbours& neighbours) UZUSHIO_INLINE_LAMBDA {
        const Lanes lambda = neighbours.centre;
        const Lanes here = phi.load(x, part);
        Lanes next = linear(rows, x, part, neighbours, here);
        if constexpr (weighting != ObservationWeight::none) {
            const Lanes residual = here - observed.values.load(x, part);
            const Lanes each =
                weighting == ObservationWeight::pointwise ? observed.weights.load(x, part) : weight;
            if constexpr (weighting == ObservationWeight::pointwise)
                next += select_positive(each, each * residual);
            else
                next = fused(each, residual, next);
            if constexpr (terms == AdjointTerms::gradient_and_misfit)
                sum.misfit.add(weighted_square<weighting>(each, residual));
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
    with_weight_kind(observed, [&](auto weighting) {
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
        if constexpr (weighting != ObservationWeight::none)
            for_each_lanes(
                begin, end, nullptr, [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
                    misfit.add(squared_residual<weighting>(observed, x, part, part.load(phi + x)));
                });
    });
}

void copy_row(std::ptrdiff_t begin, std::ptrdiff_t end, const PrefetchedRow& from, double* to) {
    for_each_lanes(begin, end, to, [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
        part.store(to + x, from.load(x, part));
    });
}

} // namespace uzushio::phasefield
