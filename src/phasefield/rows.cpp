#include "phasefield/rows.hpp"

#include <type_traits>

// Compiled with -ffp-contract=off: what is fused is written so, and is the same in each lane.

namespace uzushio::phasefield {

namespace {

/// How a row was seen.
enum class Seen { no, alike, weighted };

/// Call `work` with a constant for how the row was seen.
template <class Work> UZUSHIO_INLINE void as_seen(const SeenRow& seen, Work&& work) {
    if (!seen.values)
        work(std::integral_constant<Seen, Seen::no>{});
    else if (!seen.weights)
        work(std::integral_constant<Seen, Seen::alike>{});
    else
        work(std::integral_constant<Seen, Seen::weighted>{});
}

template <class Work> UZUSHIO_INLINE void if_any(const void* pointer, Work&& work) {
    if (pointer)
        work(std::true_type{});
    else
        work(std::false_type{});
}

/// L(φ) v of equation (5), with b R'(φ) by Horner's rule.
struct Linear {
    Lanes a, cubic, square, constant;

    explicit Linear(const Coefficients& c)
        : a(spread(c.a)), cubic(spread(-3.0 * c.b)), square(spread(c.b * (4.0 - 2.0 * c.m))),
          constant(spread(c.b * (c.m - 1.0))) {}

    template <class Part>
    [[nodiscard]] UZUSHIO_INLINE Lanes operator()(const Stencil& rows, std::ptrdiff_t x, Part part,
                                                  Lanes centre, Lanes phi) const {
        const Lanes diffused = fused(a, rows.laplacian(x, part, centre), centre);
        const Lanes slope = fused(phi, fused(cubic, phi, square), constant);
        return fused(slope, centre, diffused);
    }
};

/// w times what `difference` gives of the observed values; 0 where the weight is, whatever they
/// are.
template <Seen how, class Part>
UZUSHIO_INLINE Lanes weighed(const SeenRow& seen, std::ptrdiff_t x, Part part, Lanes value) {
    if constexpr (how == Seen::alike) {
        return spread(seen.weight) * (value - part.load(seen.values + x));
    } else {
        const Lanes weight = part.load(seen.weights + x);
        return where_positive(weight, weight * (value - part.load(seen.values + x)));
    }
}

/// (φ − y)², times the weight if there is one for each point.
template <Seen how, class Part>
UZUSHIO_INLINE Lanes square_off(const SeenRow& seen, std::ptrdiff_t x, Part part, Lanes phi) {
    const Lanes off = phi - part.load(seen.values + x);
    if constexpr (how == Seen::alike)
        return off * off;
    const Lanes weight = part.load(seen.weights + x);
    return where_positive(weight, weight * (off * off));
}

} // namespace

void forward_row(const Coefficients& c, const Stencil& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, double* keep, const SeenRow& seen, LaneSum& misfit) {
    const Lanes a = spread(c.a), b = spread(c.b), bm = spread(c.b * (c.m - 1.0));
    if_any(keep, [&](auto kept) {
        as_seen(seen, [&](auto how) {
            LaneSum sum = misfit;
            in_lanes(begin, end, keep, [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
                const Lanes phi = part.load(rows.here + x);
                const Lanes diffused = fused(a, rows.laplacian(x, part, phi), phi);
                const Lanes both = fused(-phi, phi, phi); // φ (1 − φ)
                const Lanes next = fused(both, fused(b, phi, bm), diffused);
                part.store(rows.out + x, next);
                if constexpr (kept)
                    part.stream(keep + x, phi);
                if constexpr (how != Seen::no)
                    sum.add(square_off<how>(seen, x, part, next));
            });
            misfit = sum;
        });
    });
}

void adjoint_row(const Coefficients& c, const Stencil& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, const double* phi, double* keep, const SeenRow& seen,
                 LaneSum* slope) {
    const Linear linear(c);
    if_any(keep, [&](auto kept) {
        if_any(slope, [&](auto summed) {
            as_seen(seen, [&](auto how) {
                LaneSum sum = summed ? *slope : LaneSum{};
                in_lanes(begin, end, keep, [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
                    const Lanes lambda = part.load(rows.here + x);
                    const Lanes here = part.load(phi + x);
                    Lanes next = linear(rows, x, part, lambda, here);
                    if constexpr (how != Seen::no)
                        next += weighed<how>(seen, x, part, here);
                    part.store(rows.out + x, next);
                    if constexpr (kept)
                        part.stream(keep + x, lambda);
                    if constexpr (summed)
                        sum.add(fused(-here, here, here) * lambda);
                });
                if (summed)
                    *slope = sum;
            });
        });
    });
}

void tangent_row(const Coefficients& c, const Stencil& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, const double* phi, double* keep) {
    const Linear linear(c);
    const Lanes push = spread(c.b * c.dm);
    if_any(keep, [&](auto kept) {
        in_lanes(begin, end, keep, [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
            const Lanes value = part.load(rows.here + x);
            const Lanes here = part.load(phi + x);
            const Lanes next = linear(rows, x, part, value, here);
            part.store(rows.out + x, fused(push, fused(-here, here, here), next));
            if constexpr (kept)
                part.stream(keep + x, value);
        });
    });
}

void second_order_row(const Coefficients& c, const Stencil& rows, std::ptrdiff_t begin,
                      std::ptrdiff_t end, const double* phi, const double* dphi,
                      const double* lambda, const SeenRow& seen, LaneSum* slope) {
    const Linear linear(c);
    const Lanes b = spread(c.b), dm = spread(c.dm), square = spread(4.0 - 2.0 * c.m);
    if_any(lambda, [&](auto whole) {
        if_any(slope, [&](auto summed) {
            as_seen(seen, [&](auto how) {
                LaneSum sum = summed ? *slope : LaneSum{};
                in_lanes(begin, end, nullptr,
                         [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
                             const Lanes value = part.load(rows.here + x);
                             const Lanes here = part.load(phi + x);
                             const Lanes moved = part.load(dphi + x);
                             Lanes next = linear(rows, x, part, value, here);
                             Lanes term = fused(-here, here, here) * value;
                             if constexpr (whole) {
                                 const Lanes slant = fused(spread(-2.0), here, spread(1.0));
                                 const Lanes bend = fused(spread(-6.0), here, square);
                                 const Lanes pull = b * part.load(lambda + x);
                                 next = fused(fused(bend, moved, slant * dm), pull, next);
                                 term = fused(slant * moved, part.load(lambda + x), term);
                             }
                             if constexpr (how == Seen::alike)
                                 next = fused(spread(seen.weight), moved, next);
                             else if constexpr (how == Seen::weighted)
                                 next = fused(part.load(seen.weights + x), moved, next);
                             part.store(rows.out + x, next);
                             if constexpr (summed)
                                 sum.add(term);
                         });
                if (summed)
                    *slope = sum;
            });
        });
    });
}

void misfit_row(std::ptrdiff_t begin, std::ptrdiff_t end, const double* phi, const SeenRow& seen,
                LaneSum& misfit) {
    as_seen(seen, [&](auto how) {
        if constexpr (how != Seen::no)
            in_lanes(begin, end, nullptr, [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
                misfit.add(square_off<how>(seen, x, part, part.load(phi + x)));
            });
    });
}

void dot_row(std::ptrdiff_t begin, std::ptrdiff_t end, const double* a, const double* b,
             LaneSum& sum) {
    LaneSum local = sum;
    in_lanes(begin, end, nullptr, [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
        local.add(part.load(a + x) * part.load(b + x));
    });
    sum = local;
}

} // namespace uzushio::phasefield
