#pragma once

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "domain/index.hpp"

namespace uzushio::domain {

/// Memory layout of the values of a box: offset of the first value, and strides along each axis of
/// the box and of components, in values. Strides may be negative.
struct StridedBox {
    std::int64_t offset = 0;
    Index<3> strides{};
    std::int64_t component_stride = 0;
};

/// Copy of a box of values between two arrays, with the order of loops chosen for both layouts.
class StridedCopy {
  public:
    StridedCopy() = default;
    StridedCopy(const Index<3>& extents, int components)
        : extents_(extents), components_(components) {}

    [[nodiscard]] std::int64_t values() const {
        return extents_[0] * extents_[1] * extents_[2] * components_;
    }
    /// Return the layout of the box in a message from `offset` on: (component, k, j, i) without
    /// gaps.
    [[nodiscard]] StridedBox packed(std::int64_t offset) const {
        return {offset,
                {1, extents_[0], extents_[0] * extents_[1]},
                extents_[0] * extents_[1] * extents_[2]};
    }

    /// Copy values transformed by `change(value, component)`.
    template <class T, class Change>
    void run(const T* source, const StridedBox& from, T* target, const StridedBox& to,
             Change&& change) const {
        const Loops loops = order(from, to);
        for (int m = 0; m < components_; ++m) {
            const T* const in = source + from.offset + m * from.component_stride;
            T* const out = target + to.offset + m * to.component_stride;
            const auto change_value = [&](T value) { return change(value, m); };
            switch (loops.layer.extent) {
            case 1:
                run_loops<1>(loops, in, out, change_value);
                break;
            case 2:
                run_loops<2>(loops, in, out, change_value);
                break;
            case 3:
                run_loops<3>(loops, in, out, change_value);
                break;
            default:
                run_loops<max_layers>(loops, in, out, change_value);
            }
        }
    }
    /// Copy values unchanged.
    template <class T>
    void run(const T* source, const StridedBox& from, T* target, const StridedBox& to) const {
        run(source, from, target, to, [](T value, int) { return value; });
    }

  private:
    static constexpr int max_layers = 4; ///< maximum length of unrolled loops

    struct Loop {
        std::int64_t extent = 1, from = 0, to = 0;
    };
    /// Axes from the outermost to the innermost loop.
    struct Loops {
        Loop outer, column, row, layer;
    };

    /// The innermost loop follows the memory that is written, if its rows are long. An axis of a
    /// few ghost layers is unrolled inside it.
    [[nodiscard]] Loops order(const StridedBox& from, const StridedBox& to) const {
        std::array<Loop, 3> axes;
        for (std::size_t a = 0; a < 3; ++a)
            axes[a] = {extents_[a], from.strides[a], to.strides[a]};
        const auto rank = [](const Loop& a) {
            return std::tuple(a.extent <= max_layers, std::abs(a.to));
        };
        std::sort(axes.begin(), axes.end(),
                  [&](const Loop& a, const Loop& b) { return rank(a) < rank(b); });
        Loops loops{axes[2], axes[1], axes[0], {}};
        const bool contiguous = loops.row.from == 1 && loops.row.to == 1;
        if (!contiguous && loops.outer.extent <= max_layers)
            loops.layer = std::exchange(loops.outer, {});
        return loops;
    }

    template <int layers, class T, class Change>
    static void run_loops(const Loops& loops, const T* source, T* target, Change&& change) {
        const auto& [outer, column, row, layer] = loops;
        // Where source and target run along different axes, a few columns at a time: their values
        // share cache lines, and each column is a stream that the processor can prefetch.
        const bool transposed = std::abs(row.from) > std::abs(column.from) && column.extent > 1;
        const std::int64_t width = transposed ? 8 : 1;
        for (std::int64_t k = 0; k < outer.extent; ++k)
            for (std::int64_t begin = 0; begin < column.extent; begin += width) {
                const T* in = source + k * outer.from + begin * column.from;
                T* out = target + k * outer.to + begin * column.to;
                if (transposed)
                    run_columns<layers>(loops, std::min(width, column.extent - begin), in, out,
                                        change);
                else
                    run_row<layers>(loops, in, out, change);
            }
    }

    template <int layers, class T, class Change>
    static void run_columns(const Loops& loops, std::int64_t columns, const T* in, T* out,
                            Change&& change) {
        const auto& [outer, column, row, layer] = loops;
        for (std::int64_t i = 0; i < row.extent; ++i)
            for (std::int64_t j = 0; j < columns; ++j)
                for (int l = 0; l < layers; ++l)
                    out[i * row.to + j * column.to + l * layer.to] =
                        change(in[i * row.from + j * column.from + l * layer.from]);
    }

    template <int layers, class T, class Change>
    static void run_row(const Loops& loops, const T* in, T* out, Change&& change) {
        const Loop& row = loops.row;
        const Loop& layer = loops.layer;
        // A loop for each contiguous case, so that it vectorises.
        if (layers == 1 && row.from == 1 && row.to == 1)
            for (std::int64_t i = 0; i < row.extent; ++i)
                out[i] = change(in[i]);
        else if (layers > 1 && layer.from == 1 && layer.to == 1)
            for (std::int64_t i = 0; i < row.extent; ++i)
                for (int l = 0; l < layers; ++l)
                    out[i * row.to + l] = change(in[i * row.from + l]);
        else
            for (std::int64_t i = 0; i < row.extent; ++i)
                for (int l = 0; l < layers; ++l)
                    out[i * row.to + l * layer.to] = change(in[i * row.from + l * layer.from]);
    }

    Index<3> extents_{};
    int components_ = 0;
};

} // namespace uzushio::domain
