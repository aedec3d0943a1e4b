#include "phasefield/rows.hpp"

#include <cstdint>
#include <type_traits>

// Compiled with -ffp-contract=off: what is fused is written so, and is the same in each lane.
//
// The loops take what they use by value: behind a reference it might change with each store.

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

/// Call `work` with a constant for whether `wanted` holds.
template <class Work> UZUSHIO_INLINE void when(bool wanted, Work&& work) {
    if (wanted)
        work(std::true_type{});
    else
        work(std::false_type{});
}

/// φ (1 − φ).
UZUSHIO_INLINE Lanes both_phases(Lanes phi) { return fused(-phi, phi, phi); }

/// L(φ) v of equation (5), with b R'(φ) by Horner's rule.
struct Linear {
    Lanes a, cubic, square, constant;

    explicit Linear(const Coefficients& c)
        : a(spread(c.a)), cubic(spread(-3.0 * c.b)), square(spread(c.b * (4.0 - 2.0 * c.m))),
          constant(spread(c.b * (c.m - 1.0))) {}

    template <class Part>
    [[nodiscard]] UZUSHIO_INLINE Lanes operator()(const Stencil& rows, std::ptrdiff_t x, Part part,
                                                  const Beside& beside, Lanes phi) const {
        const Lanes diffused = fused(a, rows.laplacian(x, part, beside), beside.centre);
        const Lanes slope = fused(phi, fused(cubic, phi, square), constant);
        return fused(slope, beside.centre, diffused);
    }
};

/// A term of the misfit: the square, times the weight if there is one for each point; 0 where that
/// is, whatever was seen.
template <Seen how> UZUSHIO_INLINE Lanes weighed_square(Lanes weight, Lanes off) {
    if constexpr (how == Seen::alike)
        return off * off;
    return where_positive(weight, weight * (off * off));
}

/// The term of φ.
template <Seen how, class Part>
UZUSHIO_INLINE Lanes square_off(const SeenRow& seen, std::ptrdiff_t x, Part part, Lanes phi) {
    const Lanes off = phi - seen.values.load(x, part);
    return weighed_square<how>(how == Seen::weighted ? seen.weights.load(x, part) : Lanes{}, off);
}

template <Seen how, bool keeps>
UZUSHIO_INLINE void forward(Coefficients c, Stencil rows, std::ptrdiff_t begin, std::ptrdiff_t end,
                            const double* aligned, double* keep, SeenRow seen, LaneSum& misfit) {
    const Lanes a = spread(c.a), b = spread(c.b), bm = spread(c.b * (c.m - 1.0));
    LaneSum sum = how != Seen::no ? misfit : LaneSum{};
    const auto update = [&](std::ptrdiff_t x, auto part,
                            const Beside& beside) UZUSHIO_INLINE_LAMBDA {
        const Lanes phi = beside.centre;
        const Lanes diffused = fused(a, rows.laplacian(x, part, beside), phi);
        const Lanes next = fused(both_phases(phi), fused(b, phi, bm), diffused);
        part.store(rows.out + x, next);
        if constexpr (keeps)
            part.stream(keep + x, phi);
        if constexpr (how != Seen::no)
            sum.add(square_off<how>(seen, x, part, next));
    };
    in_lanes_of(rows.here, begin, end, aligned, update);
    if constexpr (how != Seen::no)
        misfit = sum;
}

/// Call `work` with a constant for what is summed.
template <class Work> UZUSHIO_INLINE void as_summed(Summed summed, Work&& work) {
    switch (summed) {
    case Summed::nothing:
        return work(std::integral_constant<Summed, Summed::nothing>{});
    case Summed::slope:
        return work(std::integral_constant<Summed, Summed::slope>{});
    case Summed::both:
        return work(std::integral_constant<Summed, Summed::both>{});
    }
}

template <Seen how, bool keeps, Summed summed>
void adjoint(Coefficients c, Stencil rows, std::ptrdiff_t begin, std::ptrdiff_t end, Input phi,
             double* keep, SeenRow seen, AdjointSums& sums) {
    const Linear linear(c);
    const Lanes weight = spread(seen.weight);
    AdjointSums sum = sums;
    const auto update = [&](std::ptrdiff_t x, auto part,
                            const Beside& beside) UZUSHIO_INLINE_LAMBDA {
        const Lanes lambda = beside.centre;
        const Lanes here = phi.load(x, part);
        Lanes next = linear(rows, x, part, beside, here);
        if constexpr (how != Seen::no) {
            const Lanes off = here - seen.values.load(x, part);
            const Lanes each = how == Seen::weighted ? seen.weights.load(x, part) : weight;
            if constexpr (how == Seen::weighted)
                next += where_positive(each, each * off);
            else
                next = fused(each, off, next);
            if constexpr (summed == Summed::both)
                sum.misfit.add(weighed_square<how>(each, off));
        }
        part.store(rows.out + x, next);
        if constexpr (keeps)
            part.stream(keep + x, lambda);
        if constexpr (summed != Summed::nothing)
            sum.slope.add(both_phases(here) * lambda);
    };
    in_lanes_of(rows.here, begin, end, keep ? keep : rows.out, update);
    if constexpr (summed != Summed::nothing)
        sums = sum;
}

template <bool keeps>
void tangent(Coefficients c, Stencil rows, std::ptrdiff_t begin, std::ptrdiff_t end, Input phi,
             double* keep) {
    const Linear linear(c);
    const Lanes push = spread(c.b * c.dm);
    const auto update = [&](std::ptrdiff_t x, auto part, const Beside& beside)
                            UZUSHIO_INLINE_LAMBDA {
                                const Lanes value = beside.centre;
                                const Lanes here = phi.load(x, part);
                                const Lanes next = linear(rows, x, part, beside, here);
                                part.store(rows.out + x, fused(push, both_phases(here), next));
                                if constexpr (keeps)
                                    part.stream(keep + x, value);
                            };
    in_lanes_of(rows.here, begin, end, keep ? keep : rows.out, update);
}

template <Seen how, bool whole, bool sums>
void second_order(Coefficients c, Stencil rows, std::ptrdiff_t begin, std::ptrdiff_t end, Input phi,
                  Input dphi, Input lambda, SeenRow seen, LaneSum* slope) {
    const Linear linear(c);
    const Lanes b = spread(c.b), dm = spread(c.dm), square = spread(4.0 - 2.0 * c.m);
    LaneSum sum = sums ? *slope : LaneSum{};
    const auto update = [&](std::ptrdiff_t x, auto part, const Beside& beside)
                            UZUSHIO_INLINE_LAMBDA {
                                const Lanes value = beside.centre;
                                const Lanes here = phi.load(x, part);
                                const Lanes moved = dphi.load(x, part);
                                Lanes next = linear(rows, x, part, beside, here);
                                Lanes term = both_phases(here) * value;
                                if constexpr (whole) {
                                    const Lanes after = lambda.load(x, part);
                                    const Lanes slant = fused(spread(-2.0), here, spread(1.0));
                                    const Lanes bend = fused(spread(-6.0), here, square);
                                    next = fused(fused(bend, moved, slant * dm), b * after, next);
                                    term = fused(slant * moved, after, term);
                                }
                                if constexpr (how == Seen::alike)
                                    next = fused(spread(seen.weight), moved, next);
                                else if constexpr (how == Seen::weighted)
                                    next = fused(seen.weights.load(x, part), moved, next);
                                part.store(rows.out + x, next);
                                if constexpr (sums)
                                    sum.add(term);
                            };
    in_lanes_of(rows.here, begin, end, nullptr, update);
    if constexpr (sums)
        *slope = sum;
}

} // namespace

void forward_row(const Coefficients& c, const Stencil& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, double* keep, const SeenRow& seen, LaneSum& misfit) {
    as_seen(seen, [&](auto how) {
        when(keep != nullptr, [&](auto keeps) {
            forward<how, keeps>(c, rows, begin, end, keep ? keep : rows.out, keep, seen, misfit);
        });
    });
}

void forward_rows(const Coefficients& c, Stencil rows, std::ptrdiff_t begin, std::ptrdiff_t end,
                  int count, std::ptrdiff_t stride) {
    const Coefficients same = c;
    LaneSum none;
    // Most are on a boundary of 64 bytes, and stay there.
    const bool aligned = reinterpret_cast<std::uintptr_t>(rows.out + begin) % sizeof(Lanes) == 0;
    for (int i = 0; i < count; ++i) {
        forward<Seen::no, false>(same, rows, begin, end, aligned ? nullptr : rows.out, nullptr, {},
                                 none);
        rows.below += stride;
        rows.here += stride;
        rows.above += stride;
        rows.out += stride;
    }
}

void adjoint_row(const Coefficients& c, const Stencil& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, const Input& phi, double* keep, const SeenRow& seen,
                 Summed summed, AdjointSums& sums) {
    as_seen(seen, [&](auto how) {
        when(keep != nullptr, [&](auto keeps) {
            as_summed(summed, [&](auto which) {
                adjoint<how, keeps, which>(c, rows, begin, end, phi, keep, seen, sums);
            });
        });
    });
}

void tangent_row(const Coefficients& c, const Stencil& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, const Input& phi, double* keep) {
    when(keep != nullptr, [&](auto keeps) { tangent<keeps>(c, rows, begin, end, phi, keep); });
}

void second_order_row(const Coefficients& c, const Stencil& rows, std::ptrdiff_t begin,
                      std::ptrdiff_t end, const Input& phi, const Input& dphi, const Input& lambda,
                      const SeenRow& seen, LaneSum* slope) {
    as_seen(seen, [&](auto how) {
        when(bool(lambda), [&](auto whole) {
            when(slope != nullptr, [&](auto sums) {
                second_order<how, whole, sums>(c, rows, begin, end, phi, dphi, lambda, seen, slope);
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

void copy_row(std::ptrdiff_t begin, std::ptrdiff_t end, const Input& from, double* to) {
    in_lanes(begin, end, to, [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
        part.store(to + x, from.load(x, part));
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
