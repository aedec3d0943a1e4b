#pragma once

#include <cstddef>
#include <cstdint>

#include "linalg/vector.hpp"

namespace uzushio::linalg {

/// Return 1 / centre; 0 for an isolated cell, which has no fluxes and s = 0: relaxation sets it to
/// 0.
template <class T> [[nodiscard]] T inverse_of(T centre) { return centre > 0 ? 1 / centre : T(0); }

/// Stencil of a row of cells along i: (A x)(n) = neighbours(x + n, n) - centre(n) x[n], where n
/// counts from the row's first cell. With coefficient 1. `V`: T, or a vector of it. Functions are
/// always inlined: the compiler does not where many loops call them, and then does not vectorise.
template <class T> struct ConstantRow {
    std::size_t block = 0; ///< among this rank's blocks
    std::int64_t begin = 0, j = 0, k = 0;
    std::int64_t size = 0;
    std::int64_t at = 0; ///< of the first cell, in the values of a field
    std::ptrdiff_t stride_j = 0, stride_k = 0;
    const T *lower = nullptr, *upper = nullptr, *centre_i = nullptr;
    T lower_j = 0, upper_j = 0, lower_k = 0, upper_k = 0, centre_jk = 0;
    int thread = 0; ///< that visits the row

    template <class V = T>
    [[nodiscard, gnu::always_inline]] V neighbours(const T* x, std::int64_t n) const {
        return load<V>(lower + n) * load<V>(x - 1) + load<V>(upper + n) * load<V>(x + 1) +
               (lower_j * load<V>(x - stride_j) + upper_j * load<V>(x + stride_j)) +
               (lower_k * load<V>(x - stride_k) + upper_k * load<V>(x + stride_k));
    }
    [[nodiscard, gnu::always_inline]] T centre(std::int64_t n) const {
        return centre_i[n] + centre_jk;
    }
    [[nodiscard, gnu::always_inline]] T inverse(std::int64_t n) const {
        return inverse_of(centre(n));
    }
};

/// The same with a coefficient on faces.
template <class T> struct VariableRow : ConstantRow<T> {
    const T *lower_all = nullptr, *upper_all = nullptr;
    T lower_all_j = 0, upper_all_j = 0, lower_all_k = 0, upper_all_k = 0, s = 0;
    const T *b_i = nullptr, *b_j = nullptr, *b_j_upper = nullptr, *b_k = nullptr,
            *b_k_upper = nullptr;

    template <class V = T>
    [[nodiscard, gnu::always_inline]] V neighbours(const T* x, std::int64_t n) const {
        return load<V>(this->lower + n) * load<V>(b_i + n) * load<V>(x - 1) +
               load<V>(this->upper + n) * load<V>(b_i + n + 1) * load<V>(x + 1) +
               (this->lower_j * load<V>(b_j + n) * load<V>(x - this->stride_j) +
                this->upper_j * load<V>(b_j_upper + n) * load<V>(x + this->stride_j)) +
               (this->lower_k * load<V>(b_k + n) * load<V>(x - this->stride_k) +
                this->upper_k * load<V>(b_k_upper + n) * load<V>(x + this->stride_k));
    }
    [[nodiscard, gnu::always_inline]] T centre(std::int64_t n) const {
        return lower_all[n] * b_i[n] + upper_all[n] * b_i[n + 1] +
               (lower_all_j * b_j[n] + upper_all_j * b_j_upper[n]) +
               (lower_all_k * b_k[n] + upper_all_k * b_k_upper[n]) + s;
    }
    [[nodiscard, gnu::always_inline]] T inverse(std::int64_t n) const {
        return inverse_of(centre(n));
    }
};

} // namespace uzushio::linalg
