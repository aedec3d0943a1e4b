#pragma once

#include <algorithm>

#include "domain/index.hpp"

namespace uzushio::domain {

/// Where the values of a box lie: distance of the first one, and of neighbours along each axis of
/// the box and of components, in values. Strides may be negative.
struct StridedBox {
    std::int64_t offset = 0;
    Index<3> strides{};
    std::int64_t component_stride = 0;
};

/// Copy of a box of values between two arrays. Loops run over the longer rows of both sides of a
/// message in the same order, which follows from the extents alone.
class StridedCopy {
  public:
    StridedCopy() = default;
    StridedCopy(const Index<3>& extents, int components)
        : extents_(extents), components_(components) {
        // Rows of a few values, as those of ghost layers along i, are no inner loop.
        constexpr std::int64_t short_row = 8;
        if (extents[0] < short_row) {
            const std::size_t inner = extents[1] >= extents[2] ? 1 : 2;
            if (extents[inner] > extents[0])
                order_ = {inner, 0, 3 - inner};
        }
    }

    [[nodiscard]] std::int64_t values() const {
        return extents_[0] * extents_[1] * extents_[2] * components_;
    }
    /// The box in a message, from `offset` on, without gaps.
    [[nodiscard]] StridedBox packed(std::int64_t offset) const {
        StridedBox box{offset, {}, 1};
        for (const std::size_t a : order_) {
            box.strides[a] = box.component_stride;
            box.component_stride *= extents_[a];
        }
        return box;
    }

    /// Copy values, each changed by `change(value, component)`.
    template <class T, class Change>
    void run(const T* source, const StridedBox& from, T* target, const StridedBox& to,
             Change&& change) const {
        const auto [a, b, c] = order_;
        for (int m = 0; m < components_; ++m)
            for (std::int64_t k = 0; k < extents_[c]; ++k)
                for (std::int64_t j = 0; j < extents_[b]; ++j) {
                    const T* in = source + from.offset + m * from.component_stride +
                                  k * from.strides[c] + j * from.strides[b];
                    T* out = target + to.offset + m * to.component_stride + k * to.strides[c] +
                             j * to.strides[b];
                    copy_row(in, from.strides[a], out, to.strides[a], extents_[a],
                             [&](T value) { return change(value, m); });
                }
    }
    /// Copy values as they are.
    template <class T>
    void run(const T* source, const StridedBox& from, T* target, const StridedBox& to) const {
        run(source, from, target, to, [](T value, int) { return value; });
    }

  private:
    template <class T, class Change>
    static void copy_row(const T* in, std::int64_t in_stride, T* out, std::int64_t out_stride,
                         std::int64_t count, Change&& change) {
        // One loop for each contiguous side, so that it vectorises.
        if (in_stride == 1 && out_stride == 1)
            for (std::int64_t i = 0; i < count; ++i)
                out[i] = change(in[i]);
        else if (out_stride == 1)
            for (std::int64_t i = 0; i < count; ++i)
                out[i] = change(in[i * in_stride]);
        else
            for (std::int64_t i = 0; i < count; ++i)
                out[i * out_stride] = change(in[i * in_stride]);
    }

    Index<3> extents_{};
    int components_ = 0;
    std::array<std::size_t, 3> order_{0, 1, 2}; ///< innermost first
};

} // namespace uzushio::domain
