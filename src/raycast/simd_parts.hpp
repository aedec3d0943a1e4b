#pragma once

// Included by simd.hpp: its vectors in parts of one register each (AVX2, SSE2, NEON).
//
// One vector of the compiler's with more bytes than a register is kept in memory by GCC 12: an
// arithmetic operation is then two loads and a store.

#include <bit>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace uzushio::raycast {

#if defined(__AVX2__)
inline constexpr int part_bytes = 32;
#else
inline constexpr int part_bytes = 16;
#endif
inline constexpr int part_lanes = part_bytes / 4;
inline constexpr int part_count = lanes / part_lanes;

/// Sixteen numbers, with the operators of a number.
template <class Number> struct Vector {
    typedef Number Part __attribute__((vector_size(part_bytes))); // GCC ignores it in an alias

    Part part[part_count];

    Vector() = default;
    UZUSHIO_INLINE Vector(Number value) { // NOLINT: a number is a vector
        for (auto& lanes : part)
            lanes = value - Part{};
    }

#define UZUSHIO_OPERATOR(op)                                                                       \
    friend UZUSHIO_INLINE Vector operator op(Vector a, Vector b) {                                 \
        for (int p = 0; p < part_count; ++p)                                                       \
            a.part[p] = a.part[p] op b.part[p];                                                    \
        return a;                                                                                  \
    }                                                                                              \
    UZUSHIO_INLINE Vector& operator op## = (Vector b) { return *this = *this op b; }
    UZUSHIO_OPERATOR(+)
    UZUSHIO_OPERATOR(-)
    UZUSHIO_OPERATOR(*)
    UZUSHIO_OPERATOR(/)
    UZUSHIO_OPERATOR(&)
    UZUSHIO_OPERATOR(|)
    UZUSHIO_OPERATOR(^)
    UZUSHIO_OPERATOR(<<)
    UZUSHIO_OPERATOR(>>)
#undef UZUSHIO_OPERATOR
    [[nodiscard]] UZUSHIO_INLINE Number operator[](int lane) const {
        return part[lane / part_lanes][lane % part_lanes];
    }
    UZUSHIO_INLINE Vector operator-() const {
        Vector result;
        for (int p = 0; p < part_count; ++p)
            result.part[p] = -part[p];
        return result;
    }
};

using Floats = Vector<float>;
using Ints = Vector<std::int32_t>;

UZUSHIO_INLINE Floats floats(float value) { return value; }
UZUSHIO_INLINE Ints ints(std::int32_t value) { return value; }

/// Return the results of an operation on corresponding parts.
template <class Result, class Operation, class... Vectors>
UZUSHIO_INLINE Result by_parts(Operation&& operation, const Vectors&... vectors) {
    Result result;
    for (int p = 0; p < part_count; ++p)
        result.part[p] = operation(vectors.part[p]...);
    return result;
}

/// Return the index of each lane.
UZUSHIO_INLINE Ints lane_numbers() {
    Ints result;
    for (int p = 0; p < part_count; ++p)
        for (int i = 0; i < part_lanes; ++i)
            result.part[p][i] = p * part_lanes + i;
    return result;
}

UZUSHIO_INLINE Ints bit_cast_ints(Floats a) { return std::bit_cast<Ints>(a); }
UZUSHIO_INLINE Floats bit_cast_floats(Ints a) { return std::bit_cast<Floats>(a); }

struct Mask {
    Ints each{}; ///< 0 or −1

    friend UZUSHIO_INLINE Mask operator&(Mask a, Mask b) { return {a.each & b.each}; }
    friend UZUSHIO_INLINE Mask operator|(Mask a, Mask b) { return {a.each | b.each}; }
    friend UZUSHIO_INLINE Mask operator^(Mask a, Mask b) { return {a.each ^ b.each}; }
    UZUSHIO_INLINE Mask operator~() const { return {each ^ -1}; }
};

UZUSHIO_INLINE Mask mask_of(unsigned bits) {
    return {-((ints(static_cast<std::int32_t>(bits)) >> lane_numbers()) & 1)};
}
UZUSHIO_INLINE unsigned bits_of(Mask mask) {
    unsigned bits = 0;
#if defined(__AVX2__)
    for (int p = 0; p < part_count; ++p)
        bits |= static_cast<unsigned>(_mm256_movemask_ps(__m256(mask.each.part[p])))
                << (p * part_lanes);
#elif defined(__SSE2__)
    for (int p = 0; p < part_count; ++p)
        bits |= static_cast<unsigned>(_mm_movemask_ps(__m128(mask.each.part[p])))
                << (p * part_lanes);
#else
    const Ints own_bits = mask.each & (ints(1) << lane_numbers());
    Ints::Part all{};
    for (const auto& part : own_bits.part)
        all |= part;
    for (int i = 0; i < part_lanes; ++i)
        bits |= static_cast<unsigned>(all[i]);
#endif
    return bits;
}

template <class Number>
UZUSHIO_INLINE Vector<Number> select(Mask mask, Vector<Number> yes, Vector<Number> no) {
    return by_parts<Vector<Number>>([](auto m, auto a, auto b) { return m ? a : b; }, mask.each,
                                    yes, no);
}
template <class Number> UZUSHIO_INLINE Mask less(Vector<Number> a, Vector<Number> b) {
    return {by_parts<Ints>([](auto x, auto y) { return x < y; }, a, b)};
}
template <class Number> UZUSHIO_INLINE Mask less_equal(Vector<Number> a, Vector<Number> b) {
    return {by_parts<Ints>([](auto x, auto y) { return x <= y; }, a, b)};
}
template <class Number> UZUSHIO_INLINE Mask equal(Vector<Number> a, Vector<Number> b) {
    return {by_parts<Ints>([](auto x, auto y) { return x == y; }, a, b)};
}
/// Minimum of two numbers; the second if the first is NaN.
template <class Number> UZUSHIO_INLINE Vector<Number> min(Vector<Number> a, Vector<Number> b) {
    return by_parts<Vector<Number>>([](auto x, auto y) { return x < y ? x : y; }, a, b);
}
template <class Number> UZUSHIO_INLINE Vector<Number> max(Vector<Number> a, Vector<Number> b) {
    return by_parts<Vector<Number>>([](auto x, auto y) { return x > y ? x : y; }, a, b);
}
UZUSHIO_INLINE Floats fma(Floats a, Floats b, Floats c) { return a * b + c; }
/// Round towards zero.
UZUSHIO_INLINE Ints to_ints(Floats a) {
    return by_parts<Ints>([](auto x) { return __builtin_convertvector(x, Ints::Part); }, a);
}
UZUSHIO_INLINE Floats to_floats(Ints a) {
    return by_parts<Floats>([](auto x) { return __builtin_convertvector(x, Floats::Part); }, a);
}
UZUSHIO_INLINE Floats floor(Floats a) {
    const Floats near = to_floats(to_ints(a));
    return near - select(less(a, near), floats(1), floats(0));
}
UZUSHIO_INLINE Floats sqrt(Floats a) {
    return by_parts<Floats>(
        [](Floats::Part x) {
            for (int i = 0; i < part_lanes; ++i)
                x[i] = __builtin_sqrtf(x[i]);
            return x;
        },
        a);
}
UZUSHIO_INLINE Floats abs(Floats a) { return bit_cast_floats(bit_cast_ints(a) & 0x7fffffff); }

/// Return the last result of an operation on a value and the next lane.
template <class Number, class Operation>
UZUSHIO_INLINE Number reduced(Vector<Number> a, Operation&& operation) {
    auto part = a.part[0];
    for (int p = 1; p < part_count; ++p)
        part = operation(part, a.part[p]);
    Number result = part[0];
    for (int i = 1; i < part_lanes; ++i)
        result = operation(result, part[i]);
    return result;
}
template <class Number> UZUSHIO_INLINE Number reduce_min(Vector<Number> a) {
    return reduced(a, [](auto x, auto y) { return x < y ? x : y; });
}
template <class Number> UZUSHIO_INLINE Number reduce_max(Vector<Number> a) {
    return reduced(a, [](auto x, auto y) { return x > y ? x : y; });
}

/// Load sixteen numbers. GCC copies more bytes than a register in other pieces, through memory.
template <class Number> UZUSHIO_INLINE Vector<Number> load(const Number* from) {
    Vector<Number> result;
    for (int p = 0; p < part_count; ++p)
        std::memcpy(&result.part[p], from + p * part_lanes, part_bytes);
    return result;
}
template <class Number> UZUSHIO_INLINE void store(Number* to, Vector<Number> values) {
    for (int p = 0; p < part_count; ++p)
        std::memcpy(to + p * part_lanes, &values.part[p], part_bytes);
}

/// Indices for gathers, in memory. GCC would extract the lanes one by one, which is slower than
/// reading them.
struct GatherIndices {
    alignas(64) std::int32_t at[lanes];

    UZUSHIO_INLINE GatherIndices(Ints index) { // NOLINT: converted for a gather
        store(at, index);
        asm volatile("" : "+m"(at));
    }
};

using FourFloats = float __attribute__((vector_size(16)));
using FourDoubles = double __attribute__((vector_size(32)));

/// Return part `p` of a vector; `four(i)` returns its lanes from i to i + 3.
template <class Four> UZUSHIO_INLINE Floats::Part part_of_fours(int p, Four&& four) {
#if defined(__AVX2__)
    return Floats::Part(_mm256_set_m128(__m128(four(8 * p + 4)), __m128(four(8 * p))));
#else
    return four(4 * p);
#endif
}

/// In each group of four lanes, return those of `a` (0 to 3) and `b` (4 to 7) with the given
/// numbers.
template <int i, int j, int k, int l>
UZUSHIO_INLINE Floats::Part shuffle(Floats::Part a, Floats::Part b) {
#if defined(__AVX2__)
    constexpr auto in = [](int n) { return n < 4 ? n : n + 4; };
#define UZUSHIO_INDICES in(i), in(j), in(k), in(l), in(i) + 4, in(j) + 4, in(k) + 4, in(l) + 4
#else
#define UZUSHIO_INDICES i, j, k, l
#endif
#if defined(__clang__)
    return __builtin_shufflevector(a, b, UZUSHIO_INDICES);
#else
    return __builtin_shuffle(a, b, Ints::Part{UZUSHIO_INDICES});
#endif
#undef UZUSHIO_INDICES
}

UZUSHIO_INLINE Floats gather(const float* base, const GatherIndices& index) {
    Floats result;
    for (int p = 0; p < part_count; ++p)
        result.part[p] = part_of_fours(p, [&](int i) {
            const std::int32_t* const at = index.at + i;
            return FourFloats{base[at[0]], base[at[1]], base[at[2]], base[at[3]]};
        });
    return result;
}
UZUSHIO_INLINE Ints gather(const std::int32_t* base, const GatherIndices& index) {
    Ints result;
    for (int p = 0; p < part_count; ++p)
        result.part[p] = Ints::Part(part_of_fours(p, [&](int i) {
            const std::int32_t* const at = index.at + i;
            using FourInts = std::int32_t __attribute__((vector_size(16)));
            return FourFloats(FourInts{base[at[0]], base[at[1]], base[at[2]], base[at[3]]});
        }));
    return result;
}
/// Gather the values at `index` and `index + 1`.
UZUSHIO_INLINE void gather_pairs(const float* base, const GatherIndices& index, Floats& first,
                                 Floats& second) {
    const auto two = [&](int i) {
        double pair[2];
        std::memcpy(&pair[0], base + index.at[i], sizeof(double));
        std::memcpy(&pair[1], base + index.at[i + 1], sizeof(double));
        using TwoDoubles = double __attribute__((vector_size(16)));
        return FourFloats(TwoDoubles{pair[0], pair[1]});
    };
    for (int p = 0; p < part_count; ++p) {
        const Floats::Part low = part_of_fours(p, two);
        const Floats::Part high = part_of_fours(p, [&](int i) { return two(i + 2); });
        first.part[p] = shuffle<0, 2, 4, 6>(low, high);
        second.part[p] = shuffle<1, 3, 5, 7>(low, high);
    }
}
/// Gather doubles less a number, as floats.
UZUSHIO_INLINE Floats gather(const double* base, const GatherIndices& index, double less) {
    Floats result;
    for (int p = 0; p < part_count; ++p)
        result.part[p] = part_of_fours(p, [&](int i) {
            const std::int32_t* const at = index.at + i;
            const FourDoubles values{base[at[0]], base[at[1]], base[at[2]], base[at[3]]};
            return __builtin_convertvector(values - less, FourFloats);
        });
    return result;
}
/// Gather rows of four floats, transposed.
UZUSHIO_INLINE void gather_fours(const float* base, Ints index, Floats& a, Floats& b, Floats& c,
                                 Floats& d) {
    const GatherIndices stored(index << 2);
    for (int p = 0; p < part_count; ++p) {
        const auto row = [&](int i) {
            return part_of_fours(p, [&](int first) {
                FourFloats values;
                std::memcpy(&values, base + stored.at[first + i], sizeof(values));
                return values;
            });
        };
        const Floats::Part r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
        const Floats::Part low01 = shuffle<0, 4, 1, 5>(r0, r1);
        const Floats::Part low23 = shuffle<0, 4, 1, 5>(r2, r3);
        const Floats::Part high01 = shuffle<2, 6, 3, 7>(r0, r1);
        const Floats::Part high23 = shuffle<2, 6, 3, 7>(r2, r3);
        a.part[p] = shuffle<0, 1, 4, 5>(low01, low23);
        b.part[p] = shuffle<2, 3, 6, 7>(low01, low23);
        c.part[p] = shuffle<0, 1, 4, 5>(high01, high23);
        d.part[p] = shuffle<2, 3, 6, 7>(high01, high23);
    }
}
/// Gather bytes; four bytes are read at each index.
UZUSHIO_INLINE Ints gather_bytes(const std::uint8_t* base, const GatherIndices& index) {
    alignas(64) std::int32_t values[lanes];
    for (int i = 0; i < lanes; ++i)
        values[i] = base[index.at[i]];
    return load(values);
}
/// Return the value of one lane in all lanes.
UZUSHIO_INLINE Ints broadcast(Ints values, Ints lane) {
    return ints(GatherIndices(values).at[GatherIndices(lane).at[0]]);
}

/// Load up to sixteen values; NaN in the remaining lanes.
UZUSHIO_INLINE Floats load_partial(const float* base, int count) {
    alignas(64) float values[lanes];
    for (int i = 0; i < lanes; ++i)
        values[i] = i < count ? base[i] : quiet_nan;
    return load(values);
}
/// Load doubles as floats.
UZUSHIO_INLINE Floats load_floats(const double* from) {
    Floats result;
    for (int p = 0; p < part_count; ++p)
        result.part[p] = part_of_fours(p, [&](int i) {
            FourDoubles values;
            std::memcpy(&values, from + i, sizeof(values));
            return __builtin_convertvector(values, FourFloats);
        });
    return result;
}
/// Load doubles less a number, as floats.
UZUSHIO_INLINE Floats load_partial(const double* base, int count, double less) {
    alignas(64) float values[lanes];
    for (int i = 0; i < lanes; ++i)
        values[i] = i < count ? static_cast<float>(base[i] - less) : quiet_nan;
    return load(values);
}

} // namespace uzushio::raycast
