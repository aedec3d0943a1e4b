#include "staging/datamodel/copy.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <span>

namespace uzushio::staging {
namespace {

struct StridedAxis {
    std::int64_t count;
    std::int64_t from; ///< stride in bytes
    std::int64_t to;
};

/// Loop nest, outermost axis first. The innermost axis counts bytes and has unit strides.
struct StridedLoop {
    std::array<StridedAxis, 5> axes{};
    std::size_t depth = 0;
};

StridedLoop strided_loop(const ConstArrayView& from, const ArrayView& to) {
    std::array<StridedAxis, 4> axes{};
    std::size_t used = 0;
    for (std::size_t i = 0; i < 3; ++i)
        if (from.count[i] > 1)
            axes[used++] = {from.count[i], from.layout.strides[i], to.layout.strides[i]};
    if (from.components > 1)
        axes[used++] = {from.components, from.layout.component_stride, to.layout.component_stride};
    // Write in order of address: a store to a new cache line costs more than a load.
    std::stable_sort(
        axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(used),
        [](const StridedAxis& a, const StridedAxis& b) { return std::abs(a.to) > std::abs(b.to); });

    std::array<StridedAxis, 5> inside_out{};
    std::size_t depth = 0;
    inside_out[depth++] = {from.scalar_bytes, 1, 1};
    for (std::size_t i = used; i-- > 0;) {
        StridedAxis& inner = inside_out[depth - 1];
        if (axes[i].from == inner.from * inner.count && axes[i].to == inner.to * inner.count)
            inner.count *= axes[i].count;
        else
            inside_out[depth++] = axes[i];
    }
    StridedLoop result;
    result.depth = depth;
    std::reverse_copy(inside_out.begin(), inside_out.begin() + static_cast<std::ptrdiff_t>(depth),
                      result.axes.begin());
    return result;
}

/// Copy values of `size` bytes one by one; they are too short for calls of memcpy.
template <std::size_t size>
void copy_values(const StridedAxis& axis, const std::byte* from, std::byte* to) {
    for (std::int64_t i = 0; i < axis.count; ++i)
        std::memcpy(to + i * axis.to, from + i * axis.from, size);
}

void copy_row(const StridedAxis& axis, std::int64_t run_bytes, const std::byte* from,
              std::byte* to) {
    switch (run_bytes) {
    case 1:
        return copy_values<1>(axis, from, to);
    case 4:
        return copy_values<4>(axis, from, to);
    case 8:
        return copy_values<8>(axis, from, to);
    case 12:
        return copy_values<12>(axis, from, to);
    case 16:
        return copy_values<16>(axis, from, to);
    case 24:
        return copy_values<24>(axis, from, to);
    default:
        for (std::int64_t i = 0; i < axis.count; ++i)
            std::memcpy(to + i * axis.to, from + i * axis.from,
                        static_cast<std::size_t>(run_bytes));
    }
}

void walk(std::span<const StridedAxis> axes, const std::byte* from, std::byte* to) {
    const StridedAxis& axis = axes.front();
    if (axes.size() == 1)
        std::memcpy(to, from, static_cast<std::size_t>(axis.count));
    else if (axes.size() == 2)
        copy_row(axis, axes[1].count, from, to);
    else
        for (std::int64_t i = 0; i < axis.count; ++i)
            walk(axes.subspan(1), from + i * axis.from, to + i * axis.to);
}

} // namespace

void copy(const ConstArrayView& from, const ArrayView& to) {
    assert(from.count == to.count && from.components == to.components);
    assert(from.scalar_bytes == to.scalar_bytes);
    if (from.bytes() == 0)
        return;
    const StridedLoop loops = strided_loop(from, to);
    walk({loops.axes.data(), loops.depth}, from.data, to.data);
}

} // namespace uzushio::staging
