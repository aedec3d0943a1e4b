#pragma once

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

/// Eight points at a time. The points left over at the ends of a row go through the same operations
/// with empty lanes beside them, so that a value does not depend on where in a row it lies.
namespace uzushio::phasefield {

#define UZUSHIO_INLINE __attribute__((always_inline)) inline
#define UZUSHIO_INLINE_LAMBDA __attribute__((always_inline))

inline constexpr std::ptrdiff_t lanes = 8;

using Lanes = double __attribute__((vector_size(64)));

UZUSHIO_INLINE Lanes spread(double value) { return Lanes{} + value; }

/// a b + c, rounded once where the processor can.
UZUSHIO_INLINE Lanes fused(Lanes a, Lanes b, Lanes c) {
#if defined(__AVX512F__)
    return Lanes(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
#elif defined(__FMA__)
    Lanes result;
    for (int i = 0; i < lanes; ++i)
        result[i] = __builtin_fma(a[i], b[i], c[i]);
    return result;
#else
    return a * b + c;
#endif
}

/// `yes` where `of` is positive, else 0.
UZUSHIO_INLINE Lanes where_positive(Lanes of, Lanes yes) {
#if defined(__AVX512F__)
    const auto mask = _mm512_cmp_pd_mask(__m512d(of), _mm512_setzero_pd(), _CMP_GT_OQ);
    return Lanes(_mm512_maskz_mov_pd(mask, __m512d(yes)));
#else
    return of > Lanes{} ? yes : Lanes{};
#endif
}

#if defined(__AVX512F__)
/// Lanes `first` to `first` + 7 of `low` and `high` side by side.
template <int first> UZUSHIO_INLINE Lanes straddling(Lanes low, Lanes high) {
    return Lanes(_mm512_castsi512_pd(_mm512_alignr_epi64(
        _mm512_castpd_si512(__m512d(high)), _mm512_castpd_si512(__m512d(low)), first)));
}
#endif

/// Eight points, and those to the left and to the right of each.
struct Beside {
    Lanes left, centre, right;
};

/// Eight points that are all there.
struct Whole {
    static UZUSHIO_INLINE Lanes load(const double* from) {
        Lanes value;
        std::memcpy(&value, from, sizeof(value));
        return value;
    }
    static UZUSHIO_INLINE void store(double* to, Lanes value) {
        std::memcpy(to, &value, sizeof(value));
    }
    /// Past the caches; `to` is on a boundary of 64 bytes.
    static UZUSHIO_INLINE void stream(double* to, Lanes value) {
#if defined(__AVX512F__)
        _mm512_stream_pd(to, __m512d(value));
#elif defined(__AVX__)
        __m256d halves[2];
        std::memcpy(halves, &value, sizeof(value));
        _mm256_stream_pd(to, halves[0]);
        _mm256_stream_pd(to + 4, halves[1]);
#else
        std::memcpy(to, &value, sizeof(value));
#endif
    }
};

/// The first `count` of eight; the others are 0 when loaded, and are not stored.
struct Some {
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

/// Call `visit(x, part)` for [begin, end), eight points at a time. `aligned`: an address that is to
/// be on a boundary of 64 bytes at each whole eight, or null. `many(x)` may visit points from x on
/// itself, by whole eights, and returns where it has come to.
template <class Visit, class Many>
UZUSHIO_INLINE void in_lanes(std::ptrdiff_t begin, std::ptrdiff_t end, const double* aligned,
                             Visit&& visit, Many&& many) {
    std::ptrdiff_t x = begin;
    if (aligned) {
        const auto address = reinterpret_cast<std::uintptr_t>(aligned + begin) / sizeof(double);
        const auto lead = static_cast<std::ptrdiff_t>((0 - address) % lanes);
        if (lead != 0) {
            const std::ptrdiff_t count = lead < end - begin ? lead : end - begin;
            visit(x, Some{count});
            x += count;
        }
    }
    for (x = many(x); x + lanes <= end; x += lanes)
        visit(x, Whole{});
    if (x < end)
        visit(x, Some{end - x});
}

template <class Visit>
UZUSHIO_INLINE void in_lanes(std::ptrdiff_t begin, std::ptrdiff_t end, const double* aligned,
                             Visit&& visit) {
    in_lanes(begin, end, aligned, visit, [](std::ptrdiff_t x) { return x; });
}

/// Call `visit(x, part, beside)` for [begin, end), with the points of `row`, which is read from
/// `begin` - 1 to `end`. `aligned` as above.
template <class Visit>
UZUSHIO_INLINE void in_lanes_of(const double* row, std::ptrdiff_t begin, std::ptrdiff_t end,
                                const double* aligned, Visit&& visit) {
    in_lanes(
        begin, end, aligned,
        [&](std::ptrdiff_t x, auto part) UZUSHIO_INLINE_LAMBDA {
            visit(x, part,
                  Beside{part.load(row + x - 1), part.load(row + x), part.load(row + x + 1)});
        },
#if defined(__AVX512F__)
        // What is beside lies across cache lines, and a load across two takes two turns: it is put
        // together from whole lines. Two at a time, so that nothing moves between registers.
        [&](std::ptrdiff_t x) UZUSHIO_INLINE_LAMBDA {
            if (x + 2 * lanes > end)
                return x;
            Lanes before = Lanes(_mm512_set1_pd(row[x - 1]));
            Lanes here = Whole::load(row + x);
            for (; x + 3 * lanes <= end + 1; x += 2 * lanes) {
                const Lanes next = Whole::load(row + x + lanes);
                const Lanes beyond = Whole::load(row + x + 2 * lanes);
                visit(x, Whole{},
                      Beside{straddling<7>(before, here), here, straddling<1>(here, next)});
                visit(x + lanes, Whole{},
                      Beside{straddling<7>(here, next), next, straddling<1>(next, beyond)});
                before = next;
                here = beyond;
            }
            if (x + 2 * lanes <= end + 1) {
                const Lanes next = Whole::load(row + x + lanes);
                visit(x, Whole{},
                      Beside{straddling<7>(before, here), here, straddling<1>(here, next)});
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
