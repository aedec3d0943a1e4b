#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "staging/datamodel/box.hpp"
#include "staging/datamodel/layout.hpp"

namespace uzushio::staging {

/// Values of some memory seen as an array of `count` values with `components` each. Owns nothing.
/// `Byte` is std::byte, or const std::byte for what is only read.
template <class Byte> struct BasicArrayView {
    Byte* data = nullptr; ///< first value
    Extent count{};
    Layout layout;
    std::int64_t components = 1;
    std::int64_t scalar_bytes = 1; ///< any size: a scalar is copied as it is

    /// The part in `box`, whose indices count from this view's first value.
    [[nodiscard]] BasicArrayView sub(const Box& box) const {
        assert((Box{{}, count}.contains(box)));
        BasicArrayView part = *this;
        part.count = box.count;
        if (!box.empty())
            for (std::size_t i = 0; i < 3; ++i)
                part.data += box.start[i] * layout.strides[i];
        return part;
    }

    /// Components `first`, ..., `first + number - 1` of every value.
    [[nodiscard]] BasicArrayView some(std::int64_t first, std::int64_t number) const {
        assert(first >= 0 && number >= 1 && first + number <= components);
        BasicArrayView part = *this;
        part.data += first * layout.component_stride;
        part.components = number;
        return part;
    }

    /// Bytes of the values themselves, gaps not counted.
    [[nodiscard]] std::int64_t bytes() const {
        return Box{{}, count}.volume() * components * scalar_bytes;
    }

    operator BasicArrayView<const Byte>() const
        requires(!std::is_const_v<Byte>)
    {
        return {data, count, layout, components, scalar_bytes};
    }
};

using ArrayView = BasicArrayView<std::byte>;
using ConstArrayView = BasicArrayView<const std::byte>;

/// An array without gaps, components side by side.
template <class Byte>
[[nodiscard]] BasicArrayView<Byte> packed_view(Byte* data, const Extent& count,
                                               std::int64_t components, std::int64_t scalar_bytes) {
    return {data, count, interleaved(count, components, scalar_bytes), components, scalar_bytes};
}

} // namespace uzushio::staging
