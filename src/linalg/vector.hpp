#pragma once

#include <cstring>

namespace uzushio::linalg {

/// Vector of consecutive values. 32 bytes: rows are not aligned, and more loads of 64 bytes cross
/// the end of a cache line.
template <class T> struct VectorOf {
    using type [[gnu::vector_size(32)]] = T;
};
template <class T> using Vector = typename VectorOf<T>::type;

/// Load a value or a vector. Always inlined, as the stencils that call it.
template <class V, class T> [[nodiscard, gnu::always_inline]] inline V load(const T* from) {
    V value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// Store a value or a vector.
template <class V, class T> [[gnu::always_inline]] inline void store(const V& value, T* to) {
    std::memcpy(to, &value, sizeof value);
}

} // namespace uzushio::linalg
