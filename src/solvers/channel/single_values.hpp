#pragma once

// Conversions of values between double and single precision.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace uzushio::channel {

/// Values that are converted at a time in place: a buffer of them lies between.
inline constexpr std::size_t values_at_a_time = 64;

/// Round `size` values to single precision, to the first half of their own memory.
inline void pack_single(double* values, std::size_t size) {
    auto* bytes = reinterpret_cast<std::byte*>(values);
    for (std::size_t i = 0; i < size; i += values_at_a_time) {
        const std::size_t count = std::min(values_at_a_time, size - i);
        std::array<float, values_at_a_time> rounded;
        for (std::size_t k = 0; k < count; ++k)
            rounded[k] = static_cast<float>(values[i + k]);
        std::memcpy(bytes + i * sizeof(float), rounded.data(), count * sizeof(float));
    }
}

/// Convert values in single precision in the second half of their memory.
inline void unpack_single(double* values, std::size_t size) {
    const auto* bytes = reinterpret_cast<const std::byte*>(values) + size * sizeof(float);
    for (std::size_t i = 0; i < size; i += values_at_a_time) {
        const std::size_t count = std::min(values_at_a_time, size - i);
        std::array<float, values_at_a_time> rounded;
        std::memcpy(rounded.data(), bytes + i * sizeof(float), count * sizeof(float));
        for (std::size_t k = 0; k < count; ++k)
            values[i + k] = static_cast<double>(rounded[k]);
    }
}

/// Copy complex values, rounded to single precision if `round` or if one side is of this precision.
template <class From, class To>
void copy_values(const From* from, int count, To* to, [[maybe_unused]] bool round) {
    const auto* __restrict in = reinterpret_cast<const typename From::value_type*>(from);
    auto* __restrict out = reinterpret_cast<typename To::value_type*>(to);
    if constexpr (std::is_same_v<From, To>) {
        if (!round) {
            std::copy_n(in, 2 * count, out);
            return;
        }
    }
#pragma omp simd
    for (int i = 0; i < 2 * count; ++i)
        out[i] = static_cast<typename To::value_type>(static_cast<float>(in[i]));
}

} // namespace uzushio::channel
