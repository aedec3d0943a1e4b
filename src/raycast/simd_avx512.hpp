#pragma once

// Included by simd.hpp: its vectors with AVX-512, one register each.

// GCC 12 warns about its own header.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

namespace uzushio::raycast {

using Floats = float __attribute__((vector_size(64)));
using Ints = std::int32_t __attribute__((vector_size(64)));

UZUSHIO_INLINE Floats floats(float value) { return Floats{} + value; }
UZUSHIO_INLINE Ints ints(std::int32_t value) { return Ints{} + value; }

/// Return the index of each lane.
UZUSHIO_INLINE Ints lane_numbers() {
    return Ints{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

UZUSHIO_INLINE Ints bit_cast_ints(Floats a) { return reinterpret_cast<Ints>(a); }
UZUSHIO_INLINE Floats bit_cast_floats(Ints a) { return reinterpret_cast<Floats>(a); }

/// One bit for each lane.
struct Mask {
    __mmask16 bits = 0;

    friend UZUSHIO_INLINE Mask operator&(Mask a, Mask b) { return {_kand_mask16(a.bits, b.bits)}; }
    friend UZUSHIO_INLINE Mask operator|(Mask a, Mask b) { return {_kor_mask16(a.bits, b.bits)}; }
    friend UZUSHIO_INLINE Mask operator^(Mask a, Mask b) { return {_kxor_mask16(a.bits, b.bits)}; }
    UZUSHIO_INLINE Mask operator~() const { return {_knot_mask16(bits)}; }
};

UZUSHIO_INLINE Mask mask_of(unsigned bits) { return {static_cast<__mmask16>(bits)}; }
UZUSHIO_INLINE unsigned bits_of(Mask mask) { return mask.bits; }

UZUSHIO_INLINE Floats select(Mask mask, Floats yes, Floats no) {
    return Floats(_mm512_mask_blend_ps(mask.bits, __m512(no), __m512(yes)));
}
UZUSHIO_INLINE Ints select(Mask mask, Ints yes, Ints no) {
    return Ints(_mm512_mask_blend_epi32(mask.bits, __m512i(no), __m512i(yes)));
}

UZUSHIO_INLINE Mask less(Floats a, Floats b) {
    return {_mm512_cmp_ps_mask(__m512(a), __m512(b), _CMP_LT_OQ)};
}
UZUSHIO_INLINE Mask less_equal(Floats a, Floats b) {
    return {_mm512_cmp_ps_mask(__m512(a), __m512(b), _CMP_LE_OQ)};
}
UZUSHIO_INLINE Mask equal(Floats a, Floats b) {
    return {_mm512_cmp_ps_mask(__m512(a), __m512(b), _CMP_EQ_OQ)};
}
UZUSHIO_INLINE Mask less(Ints a, Ints b) {
    return {_mm512_cmplt_epi32_mask(__m512i(a), __m512i(b))};
}
UZUSHIO_INLINE Mask less_equal(Ints a, Ints b) {
    return {_mm512_cmple_epi32_mask(__m512i(a), __m512i(b))};
}
UZUSHIO_INLINE Mask equal(Ints a, Ints b) {
    return {_mm512_cmpeq_epi32_mask(__m512i(a), __m512i(b))};
}

/// Minimum of two numbers; the second if the first is NaN.
UZUSHIO_INLINE Floats min(Floats a, Floats b) {
    return Floats(_mm512_min_ps(__m512(a), __m512(b)));
}
UZUSHIO_INLINE Floats max(Floats a, Floats b) {
    return Floats(_mm512_max_ps(__m512(a), __m512(b)));
}
UZUSHIO_INLINE Ints min(Ints a, Ints b) { return Ints(_mm512_min_epi32(__m512i(a), __m512i(b))); }
UZUSHIO_INLINE Ints max(Ints a, Ints b) { return Ints(_mm512_max_epi32(__m512i(a), __m512i(b))); }
UZUSHIO_INLINE Floats fma(Floats a, Floats b, Floats c) {
    return Floats(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
}
UZUSHIO_INLINE Floats floor(Floats a) {
    return Floats(_mm512_roundscale_ps(__m512(a), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
}
UZUSHIO_INLINE Floats sqrt(Floats a) { return Floats(_mm512_sqrt_ps(__m512(a))); }
UZUSHIO_INLINE Floats abs(Floats a) { return Floats(_mm512_abs_ps(__m512(a))); }
/// Round towards zero.
UZUSHIO_INLINE Ints to_ints(Floats a) { return Ints(_mm512_cvttps_epi32(__m512(a))); }
UZUSHIO_INLINE Floats to_floats(Ints a) { return Floats(_mm512_cvtepi32_ps(__m512i(a))); }

UZUSHIO_INLINE float reduce_min(Floats a) { return _mm512_reduce_min_ps(__m512(a)); }
UZUSHIO_INLINE float reduce_max(Floats a) { return _mm512_reduce_max_ps(__m512(a)); }
UZUSHIO_INLINE std::int32_t reduce_min(Ints a) { return _mm512_reduce_min_epi32(__m512i(a)); }
UZUSHIO_INLINE std::int32_t reduce_max(Ints a) { return _mm512_reduce_max_epi32(__m512i(a)); }

using GatherIndices = Ints;

UZUSHIO_INLINE Floats gather(const float* base, Ints index) {
    return Floats(_mm512_i32gather_ps(__m512i(index), base, 4));
}
UZUSHIO_INLINE Ints gather(const std::int32_t* base, Ints index) {
    return Ints(_mm512_i32gather_epi32(__m512i(index), base, 4));
}

/// Gather the values at `index` and `index + 1`.
UZUSHIO_INLINE void gather_pairs(const float* base, Ints index, Floats& first, Floats& second) {
    const auto all = reinterpret_cast<__m512i>(index);
    const __m512 low = _mm512_castpd_ps(_mm512_i32gather_pd(_mm512_castsi512_si256(all), base, 4));
    const __m512 high =
        _mm512_castpd_ps(_mm512_i32gather_pd(_mm512_extracti64x4_epi64(all, 1), base, 4));
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd =
        _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    first = Floats(_mm512_permutex2var_ps(low, even, high));
    second = Floats(_mm512_permutex2var_ps(low, odd, high));
}

/// Return the value of one lane in all lanes.
UZUSHIO_INLINE Ints broadcast(Ints values, Ints lane) {
    return Ints(_mm512_permutexvar_epi32(__m512i(lane), __m512i(values)));
}
UZUSHIO_INLINE std::int32_t first(Ints values) {
    return _mm_cvtsi128_si32(_mm512_castsi512_si128(__m512i(values)));
}
/// Compare as unsigned integers.
UZUSHIO_INLINE Mask greater_unsigned(Ints a, Ints b) {
    return {_mm512_cmpgt_epu32_mask(__m512i(a), __m512i(b))};
}
UZUSHIO_INLINE Ints max_unsigned(Ints a, Ints b) {
    return Ints(_mm512_max_epu32(__m512i(a), __m512i(b)));
}

/// Load 4 × 4 values, a row every `stride`.
UZUSHIO_INLINE Floats load_square(const float* base, std::ptrdiff_t stride) {
    __m512 all = _mm512_castps128_ps512(_mm_loadu_ps(base));
    all = _mm512_insertf32x4(all, _mm_loadu_ps(base + stride), 1);
    all = _mm512_insertf32x4(all, _mm_loadu_ps(base + 2 * stride), 2);
    return Floats(_mm512_insertf32x4(all, _mm_loadu_ps(base + 3 * stride), 3));
}
/// Load doubles less a number, as floats.
UZUSHIO_INLINE Floats load_square(const double* base, std::ptrdiff_t stride, double less) {
    const __m512d shift = _mm512_set1_pd(less);
    const auto rows = [&](const double* low, const double* high) {
        const __m512d joined = _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(low)),
                                                  _mm256_loadu_pd(high), 1);
        return _mm512_cvtpd_ps(_mm512_sub_pd(joined, shift));
    };
    const __m256 low = rows(base, base + stride), high = rows(base + 2 * stride, base + 3 * stride);
    return Floats(_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1));
}
/// Look up values in two registers of 32 values; only the five lowest bits of an index count.
UZUSHIO_INLINE Floats lookup(Floats low, Floats high, Ints index) {
    return Floats(_mm512_permutex2var_ps(__m512(low), __m512i(index), __m512(high)));
}

/// Gather doubles less a number, as floats.
UZUSHIO_INLINE Floats gather(const double* base, Ints index, double less) {
    const auto all = reinterpret_cast<__m512i>(index);
    const __m512d shift = _mm512_set1_pd(less);
    const __m512d low =
        _mm512_sub_pd(_mm512_i32gather_pd(_mm512_castsi512_si256(all), base, 8), shift);
    const __m512d high =
        _mm512_sub_pd(_mm512_i32gather_pd(_mm512_extracti64x4_epi64(all, 1), base, 8), shift);
    return Floats(
        _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1));
}

/// Load up to sixteen values; NaN in the remaining lanes.
UZUSHIO_INLINE Floats load_partial(const float* base, int count) {
    return Floats(_mm512_mask_loadu_ps(_mm512_set1_ps(quiet_nan),
                                       static_cast<__mmask16>((1U << count) - 1), base));
}
/// Load doubles less a number, as floats.
UZUSHIO_INLINE Floats load_partial(const double* base, int count, double less) {
    const unsigned bits = (1U << count) - 1;
    const __m512d none = _mm512_set1_pd(quiet_nan), shift = _mm512_set1_pd(less);
    const auto eight = [&](const double* from, unsigned some) {
        return _mm512_cvtpd_ps(
            _mm512_sub_pd(_mm512_mask_loadu_pd(none, static_cast<__mmask8>(some), from), shift));
    };
    return Floats(_mm512_insertf32x8(_mm512_castps256_ps512(eight(base, bits & 255)),
                                     eight(base + 8, bits >> 8), 1));
}

/// Load doubles as floats.
UZUSHIO_INLINE Floats load_floats(const double* from) {
    return Floats(_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(_mm512_loadu_pd(from))),
                                     _mm512_cvtpd_ps(_mm512_loadu_pd(from + 8)), 1));
}

/// Gather bytes; four bytes are read at each index.
UZUSHIO_INLINE Ints gather_bytes(const std::uint8_t* base, Ints index) {
    return Ints(_mm512_i32gather_epi32(__m512i(index), base, 1)) & 255;
}

/// Gather rows of four floats, transposed.
UZUSHIO_INLINE void gather_fours(const float* base, Ints index, Floats& a, Floats& b, Floats& c,
                                 Floats& d) {
    alignas(64) std::int32_t at[lanes];
    _mm512_store_si512(at, __m512i(index << 4));
    // Without this GCC extracts the lanes one by one, which is slower than reading memory again.
    asm volatile("" : "+m"(at));
    const auto* const bytes = reinterpret_cast<const char*>(base);
    const auto four = [&](int i) {
        return _mm_loadu_ps(reinterpret_cast<const float*>(bytes + at[i]));
    };
    const auto rows = [&](int i) {
        __m512 all = _mm512_castps128_ps512(four(i));
        all = _mm512_insertf32x4(all, four(i + 4), 1);
        all = _mm512_insertf32x4(all, four(i + 8), 2);
        return _mm512_insertf32x4(all, four(i + 12), 3);
    };
    const __m512 r0 = rows(0), r1 = rows(1), r2 = rows(2), r3 = rows(3);
    const __m512 low01 = _mm512_unpacklo_ps(r0, r1), low23 = _mm512_unpacklo_ps(r2, r3);
    const __m512 high01 = _mm512_unpackhi_ps(r0, r1), high23 = _mm512_unpackhi_ps(r2, r3);
    a = Floats(_mm512_shuffle_ps(low01, low23, 0x44));
    b = Floats(_mm512_shuffle_ps(low01, low23, 0xee));
    c = Floats(_mm512_shuffle_ps(high01, high23, 0x44));
    d = Floats(_mm512_shuffle_ps(high01, high23, 0xee));
}

UZUSHIO_INLINE Floats load(const float* from) {
    Floats result;
    std::memcpy(&result, from, sizeof(result));
    return result;
}
UZUSHIO_INLINE void store(float* to, Floats values) { std::memcpy(to, &values, sizeof(values)); }
UZUSHIO_INLINE Ints load(const std::int32_t* from) {
    Ints result;
    std::memcpy(&result, from, sizeof(result));
    return result;
}
UZUSHIO_INLINE void store(std::int32_t* to, Ints values) {
    std::memcpy(to, &values, sizeof(values));
}

} // namespace uzushio::raycast
