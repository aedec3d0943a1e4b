#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
// GCC 12 warns of its own header.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#elif defined(__AVX__)
#include <immintrin.h>
#endif

/// Vectors of eight points. The remaining points at the ends of a row go through the same
/// operations in partially filled vectors, so that a result is independent of its position in the
/// row.
///
/// Without AVX-512 a vector has the parts of the processor's registers (AVX, SSE2, NEON). Why
/// Google Highway is not used: docs/performance/time-blocking.md.
namespace uzushio::phasefield {

#define UZUSHIO_INLINE __attribute__((always_inline)) inline
#define UZUSHIO_INLINE_LAMBDA __attribute__((always_inline))

inline constexpr std::ptrdiff_t lanes = 8;

#if defined(__AVX512F__)

using Lanes = double __attribute__((vector_size(64)));

UZUSHIO_INLINE Lanes broadcast(double value) { return Lanes{} + value; }

/// a b + c, rounded once if the processor has FMA.
UZUSHIO_INLINE Lanes fused(Lanes a, Lanes b, Lanes c) {
    return Lanes(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
}

/// `value` where `condition` is positive, else 0.
UZUSHIO_INLINE Lanes select_positive(Lanes condition, Lanes value) {
    const auto mask = _mm512_cmp_pd_mask(__m512d(condition), _mm512_setzero_pd(), _CMP_GT_OQ);
    return Lanes(_mm512_maskz_mov_pd(mask, __m512d(value)));
}

/// `value` limited to ± `limit`; NaN stays.
UZUSHIO_INLINE Lanes limited(Lanes value, Lanes limit) {
    const auto above = _mm512_cmp_pd_mask(__m512d(value), __m512d(limit), _CMP_GT_OQ);
    const auto below = _mm512_cmp_pd_mask(__m512d(value), __m512d(-limit), _CMP_LT_OQ);
    const __m512d high = _mm512_mask_mov_pd(__m512d(value), above, __m512d(limit));
    return Lanes(_mm512_mask_mov_pd(high, below, __m512d(-limit)));
}

UZUSHIO_INLINE Lanes square_root(Lanes value) { return Lanes(_mm512_sqrt_pd(__m512d(value))); }

#else

/// Eight numbers in parts of one register each. GCC 12 keeps a vector with more bytes than a
/// register in memory.
struct Lanes {
#if defined(__AVX__)
    using Part = double __attribute__((vector_size(32)));
#else
    using Part = double __attribute__((vector_size(16)));
#endif
    static constexpr int part_count = 64 / sizeof(Part);

    Part part[part_count];

#define UZUSHIO_OPERATOR(op)                                                                       \
    friend UZUSHIO_INLINE Lanes operator op(Lanes a, Lanes b) {                                    \
        for (int p = 0; p < part_count; ++p)                                                       \
            a.part[p] = a.part[p] op b.part[p];                                                    \
        return a;                                                                                  \
    }
    UZUSHIO_OPERATOR(+)
    UZUSHIO_OPERATOR(-)
    UZUSHIO_OPERATOR(*)
    UZUSHIO_OPERATOR(/)
#undef UZUSHIO_OPERATOR
    UZUSHIO_INLINE Lanes& operator+=(Lanes b) { return *this = *this + b; }
    UZUSHIO_INLINE Lanes operator-() const {
        Lanes result;
        for (int p = 0; p < part_count; ++p)
            result.part[p] = -part[p];
        return result;
    }
    [[nodiscard]] double operator[](int lane) const {
        constexpr int width = static_cast<int>(lanes) / part_count;
        return part[lane / width][lane % width];
    }
};

UZUSHIO_INLINE Lanes broadcast(double value) {
    Lanes result;
    for (auto& part : result.part)
        part = Lanes::Part{} + value;
    return result;
}

/// a b + c, rounded once if the processor has FMA.
UZUSHIO_INLINE Lanes fused(Lanes a, Lanes b, Lanes c) {
    for (int p = 0; p < Lanes::part_count; ++p)
#if defined(__FMA__)
        c.part[p] = _mm256_fmadd_pd(a.part[p], b.part[p], c.part[p]);
#elif defined(__ARM_FEATURE_FMA)
        for (int i = 0; i < 2; ++i)
            c.part[p][i] = __builtin_fma(a.part[p][i], b.part[p][i], c.part[p][i]);
#else
        c.part[p] = a.part[p] * b.part[p] + c.part[p];
#endif
    return c;
}

/// `value` where `condition` is positive, else 0.
UZUSHIO_INLINE Lanes select_positive(Lanes condition, Lanes value) {
    for (int p = 0; p < Lanes::part_count; ++p)
        value.part[p] = condition.part[p] > Lanes::Part{} ? value.part[p] : Lanes::Part{};
    return value;
}

/// `value` limited to ± `limit`; NaN stays.
UZUSHIO_INLINE Lanes limited(Lanes value, Lanes limit) {
    for (int p = 0; p < Lanes::part_count; ++p) {
        const Lanes::Part high = limit.part[p], low = -high;
        const Lanes::Part below = value.part[p] > high ? high : value.part[p];
        value.part[p] = below < low ? low : below;
    }
    return value;
}

UZUSHIO_INLINE Lanes square_root(Lanes value) {
    for (auto& part : value.part)
        for (std::size_t i = 0; i < sizeof(part) / sizeof(double); ++i)
            part[i] = std::sqrt(part[i]);
    return value;
}

#endif

#if defined(__AVX512F__)
/// Lanes `first` to `first` + 7 of the concatenation of `low` and `high`.
template <int first> UZUSHIO_INLINE Lanes shifted_lanes(Lanes low, Lanes high) {
    return Lanes(_mm512_castsi512_pd(_mm512_alignr_epi64(
        _mm512_castpd_si512(__m512d(high)), _mm512_castpd_si512(__m512d(low)), first)));
}
#endif

/// Sums of terms in eight lanes, each a double-double number (Knuth's TwoSum: `low` accumulates the
/// rounding errors of `high`, for terms of any sign and size).
struct LaneSum {
    Lanes high{};
    Lanes low{};

    UZUSHIO_INLINE void add(Lanes term) {
        const Lanes sum = high + term;
        const Lanes added = sum - high;
        low += (high - (sum - added)) + (term - added);
        high = sum;
    }
};

/// Eight points and their left and right neighbours.
struct Neighbours {
    Lanes left, centre, right;
};

/// Access to eight points.
struct FullLanes {
    static UZUSHIO_INLINE Lanes load(const double* from) {
        Lanes value;
#if defined(__AVX512F__)
        std::memcpy(&value, from, sizeof(value));
#else
        // Part by part: GCC copies more bytes in other pieces, and then through memory.
        for (auto& part : value.part) {
            std::memcpy(&part, from, sizeof(part));
            from += sizeof(part) / sizeof(double);
        }
#endif
        return value;
    }
    static UZUSHIO_INLINE void store(double* to, Lanes value) {
#if defined(__AVX512F__)
        std::memcpy(to, &value, sizeof(value));
#else
        for (const auto& part : value.part) {
            std::memcpy(to, &part, sizeof(part));
            to += sizeof(part) / sizeof(double);
        }
#endif
    }
    /// Non-temporal store; `to` is aligned to 64 bytes.
    static UZUSHIO_INLINE void stream(double* to, Lanes value) {
#if defined(__AVX512F__)
        _mm512_stream_pd(to, __m512d(value));
#elif defined(__AVX__)
        _mm256_stream_pd(to, value.part[0]);
        _mm256_stream_pd(to + 4, value.part[1]);
#else
        store(to, value);
#endif
    }
};

/// Access to the first `count` of eight points; the other lanes are 0 and are not stored.
struct PartialLanes {
    std::ptrdiff_t count;

#if defined(__AVX512F__)
    [[nodiscard]] UZUSHIO_INLINE __mmask8 mask() const {
        return static_cast<__mmask8>((1U << count) - 1U);
    }
    [[nodiscard]] UZUSHIO_INLINE Lanes load(const double* from) const {
        return Lanes(_mm512_maskz_loadu_pd(mask(), from));
    }
    UZUSHIO_INLINE void store(double* to, Lanes value) const {
        _mm512_mask_storeu_pd(to, mask(), __m512d(value));
    }
#else
    [[nodiscard]] UZUSHIO_INLINE Lanes load(const double* from) const {
        Lanes value{};
        std::memcpy(&value, from, static_cast<std::size_t>(count) * sizeof(double));
        return value;
    }
    UZUSHIO_INLINE void store(double* to, Lanes value) const {
        std::memcpy(to, &value, static_cast<std::size_t>(count) * sizeof(double));
    }
#endif
    UZUSHIO_INLINE void stream(double* to, Lanes value) const { store(to, value); }
};

/// Call `visit(x, part)` for [begin, end), eight points at a time, so that `aligned` + x is aligned
/// to 64 bytes for full vectors, unless `aligned` is null. `visit_full(x)` may visit full vectors
/// from x on by itself; it returns the end of the points that it visited.
template <class Visit, class VisitFull>
UZUSHIO_INLINE void for_each_lanes(std::ptrdiff_t begin, std::ptrdiff_t end, const double* aligned,
                                   Visit&& visit, VisitFull&& visit_full) {
    std::ptrdiff_t x = begin;
    if (aligned) {
        const auto address = reinterpret_cast<std::uintptr_t>(aligned + begin) / sizeof(double);
        const auto lead = static_cast<std::ptrdiff_t>((0 - address) % lanes);
        if (lead != 0) {
            const std::ptrdiff_t count = lead < end - begin ? lead : end - begin;
            visit(x, PartialLanes{count});
            x += count;
        }
    }
    for (x = visit_full(x); x + lanes <= end; x += lanes)
        visit(x, FullLanes{});
    if (x < end)
        visit(x, PartialLanes{end - x});
}

template <class Visit>
UZUSHIO_INLINE void for_each_lanes(std::ptrdiff_t begin, std::ptrdiff_t end, const double* aligned,
                                   Visit&& visit) {
    for_each_lanes(begin, end, aligned, visit, [](std::ptrdiff_t x) { return x; });
}

/// Call `visit(x, part, neighbours)` for [begin, end) with the points of `row`, which is read from
/// `begin` - 1 to `end`. `aligned` is that of `for_each_lanes`.
template <class Visit>
UZUSHIO_INLINE void for_each_neighbours(const double* row, std::ptrdiff_t begin, std::ptrdiff_t end,
                                        const double* aligned, Visit&& visit) {
    for_each_lanes(
        begin, end, aligned,
        [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
            visit(x, part,
                  Neighbours{part.load(row + x - 1), part.load(row + x), part.load(row + x + 1)});
        },
#if defined(__AVX512F__)
        // Neighbours are combined from aligned vectors, since a load across two cache lines takes
        // two cycles. Unrolled by two to avoid moves between registers.
        [&](std::ptrdiff_t x) UZUSHIO_INLINE_LAMBDA {
            if (x + 2 * lanes > end)
                return x;
            Lanes before = Lanes(_mm512_set1_pd(row[x - 1]));
            Lanes here = FullLanes::load(row + x);
            for (; x + 3 * lanes <= end + 1; x += 2 * lanes) {
                const Lanes next = FullLanes::load(row + x + lanes);
                const Lanes beyond = FullLanes::load(row + x + 2 * lanes);
                visit(
                    x, FullLanes{},
                    Neighbours{shifted_lanes<7>(before, here), here, shifted_lanes<1>(here, next)});
                visit(
                    x + lanes, FullLanes{},
                    Neighbours{shifted_lanes<7>(here, next), next, shifted_lanes<1>(next, beyond)});
                before = next;
                here = beyond;
            }
            if (x + 2 * lanes <= end + 1) {
                const Lanes next = FullLanes::load(row + x + lanes);
                visit(
                    x, FullLanes{},
                    Neighbours{shifted_lanes<7>(before, here), here, shifted_lanes<1>(here, next)});
                x += lanes;
            }
            return x;
        }
#else
        [](std::ptrdiff_t x) { return x; }
#endif
    );
}

} // namespace uzushio::phasefield
