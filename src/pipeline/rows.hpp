#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "pipeline/axis_stencil.hpp"
#include "pipeline/field_view.hpp"

namespace uzushio::pipeline {

/// Stencil along x with weights of the values' own type, and the range in which it shifts with the
/// index.
template <class T> class RowStencil {
  public:
    explicit RowStencil(const AxisStencil& stencil)
        : first_(stencil.first.begin(), stencil.first.end()),
          weights_(stencil.weights.begin(), stencil.weights.end()), width_(stencil.width) {
        // Only at the ends of the mesh do neighbouring stencils have the same first index.
        const auto n = stencil.size();
        while (begin_ + 1 < n && first_[index(begin_)] == first_[index(begin_ + 1)])
            ++begin_;
        end_ = begin_;
        while (end_ < n && first_[index(end_)] - end_ == first_[index(begin_)] - begin_)
            ++end_;
    }

    /// Apply to one row. `in`: contiguous values by the stencil's indices. `out`: as many as the
    /// stencil has.
    void operator()(const T* in, T* out) const {
        const auto n = static_cast<std::ptrdiff_t>(first_.size());
        for (std::ptrdiff_t i = 0; i < begin_; ++i)
            out[i] = value_at(in, i);
        if (begin_ < end_)
            apply_shifted(in + (first_[index(begin_)] - begin_), out);
        for (std::ptrdiff_t i = end_; i < n; ++i)
            out[i] = value_at(in, i);
    }

  private:
    [[nodiscard]] static std::size_t index(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }
    [[nodiscard]] const T* weights(std::ptrdiff_t m) const {
        return weights_.data() + m * static_cast<std::ptrdiff_t>(first_.size());
    }

    [[nodiscard]] T value_at(const T* in, std::ptrdiff_t i) const {
        T sum = 0;
        for (std::ptrdiff_t m = 0; m < width_; ++m)
            sum += weights(m)[i] * in[first_[index(i)] + m];
        return sum;
    }

    void apply_shifted(const T* in, T* out) const {
        if (width_ == 3) { // in most cases: one pass
            const T *a = weights(0), *b = weights(1), *c = weights(2);
            for (std::ptrdiff_t i = begin_; i < end_; ++i)
                out[i] = a[i] * in[i] + b[i] * in[i + 1] + c[i] * in[i + 2];
            return;
        }
        std::fill(out + begin_, out + end_, T(0));
        for (std::ptrdiff_t m = 0; m < width_; ++m) {
            const T* w = weights(m);
            for (std::ptrdiff_t i = begin_; i < end_; ++i)
                out[i] += w[i] * in[i + m];
        }
    }

    std::vector<std::ptrdiff_t> first_;
    std::vector<T> weights_;
    std::ptrdiff_t width_, begin_ = 0, end_ = 0;
};

/// Contiguous rows of a field: its own memory if that is contiguous along x, otherwise copies.
template <class T> class ContiguousRows {
  public:
    explicit ContiguousRows(const FieldView<const T>& field)
        : field_(field),
          packed_(field.strides[2] == 1 ? 0 : static_cast<std::size_t>(field.extents[2])) {}

    /// Return a row, valid until the next call.
    const T* operator()(std::ptrdiff_t k, std::ptrdiff_t j) {
        const T* row = field_.row(k, j);
        if (packed_.empty())
            return row;
        for (std::ptrdiff_t i = 0; i < field_.extents[2]; ++i)
            packed_[static_cast<std::size_t>(i)] = row[i * field_.strides[2]];
        return packed_.data();
    }

    [[nodiscard]] const FieldView<const T>& field() const { return field_; }

  private:
    FieldView<const T> field_;
    std::vector<T> packed_;
};

/// Compute out[i] += weight * in[i], or = if it is the first.
template <class T> void add_row(const T* in, T weight, T* out, std::ptrdiff_t n, bool is_first) {
    if (is_first)
        for (std::ptrdiff_t i = 0; i < n; ++i)
            out[i] = weight * in[i];
    else
        for (std::ptrdiff_t i = 0; i < n; ++i)
            out[i] += weight * in[i];
}

/// Throw std::invalid_argument unless the stencil stays inside `extent` values.
inline void require_inside(const AxisStencil& stencil, std::ptrdiff_t extent) {
    if (static_cast<std::ptrdiff_t>(stencil.weights.size()) != stencil.size() * stencil.width)
        throw std::invalid_argument("pipeline: a stencil needs its width times its size weights");
    for (const auto first : stencil.first)
        if (first < 0 || first + stencil.width > extent)
            throw std::invalid_argument("pipeline: a stencil leaves the array");
}

} // namespace uzushio::pipeline
