#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

namespace uzushio::raycast {

inline constexpr int lanes = 16;
inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();
inline constexpr std::int32_t int_max = std::numeric_limits<std::int32_t>::max();

#define UZUSHIO_INLINE __attribute__((always_inline)) inline

} // namespace uzushio::raycast

// Vectors of sixteen lanes, in two implementations: AVX-512, and several vectors of the compiler's
// for other processors. Results are equal except for the last bits of `exp2` and of divisions that
// a compiler may contract.
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define UZUSHIO_RAYCAST_AVX512 1
#include "raycast/simd_avx512.hpp"
#else
#define UZUSHIO_RAYCAST_AVX512 0
#include "raycast/simd_parts.hpp"
#endif

namespace uzushio::raycast {

UZUSHIO_INLINE bool any(Mask mask) { return bits_of(mask) != 0; }
UZUSHIO_INLINE Mask no_lanes() { return mask_of(0); }

/// Return the lanes with a finite value.
UZUSHIO_INLINE Mask is_finite(Floats a) { return less(abs(a), floats(infinity)); }
/// Return the lanes in which both values are finite.
UZUSHIO_INLINE Mask are_finite(Floats a, Floats b) {
    return equal(fma(a, floats(0), b * 0.0F), floats(0));
}

/// Return 2 to the power of a number from −126 to 126; relative error 2e-7. Exactly 1 for 0.
UZUSHIO_INLINE Floats exp2(Floats a) {
    a = max(a, floats(-126.0F));
    const Floats whole = floor(a);
    const Floats part = a - whole;
    Floats value = floats(1.86713028e-3F);
    value = fma(value, part, floats(9.01702974e-3F));
    value = fma(value, part, floats(5.57999137e-2F));
    value = fma(value, part, floats(2.40164450e-1F));
    value = fma(value, part, floats(6.93151312e-1F));
    value = fma(value, part, floats(1.0F));
    return bit_cast_floats(bit_cast_ints(value) + (to_ints(whole) << 23));
}

/// Return the logarithm to base 2 of a positive number; absolute error 2e-5.
UZUSHIO_INLINE Floats log2(Floats a) {
    const Ints bits = bit_cast_ints(a);
    const Floats exponent = to_floats((bits >> 23) - 127);
    const Floats m = bit_cast_floats((bits & 0x7fffff) | 0x3f800000);
    Floats value = floats(4.39286278e-2F);
    value = fma(value, m, floats(-4.09475586e-1F));
    value = fma(value, m, floats(1.61017755F));
    value = fma(value, m, floats(-3.52021884F));
    value = fma(value, m, floats(5.06975632F));
    value = fma(value, m, floats(-2.79415368F));
    return exponent + value;
}

} // namespace uzushio::raycast
