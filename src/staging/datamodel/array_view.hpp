#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "staging/datamodel/array_layout.hpp"
#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// Non-owning view of memory as an array of `count` values with `components` each. `Byte` is
/// std::byte, or const std::byte for a read-only view.
template <class Byte> struct BasicArrayView {
    Byte* data = nullptr; ///< first value
    Extent count{};
    ArrayLayout layout;
    std::int64_t components = 1;
    std::int64_t scalar_bytes = 1; ///< any size: scalars are copied without conversion

    /// Return the part in `box`; indices are relative to this view's first value.
    [[nodiscard]] BasicArrayView sub(const Box& box) const {
        assert(Box::of(count).contains(box));
        BasicArrayView part = *this;
        part.count = box.extents();
        if (!box.empty())
            for (std::size_t i = 0; i < 3; ++i)
                part.data += box.lower[i] * layout.strides[i];
        return part;
    }

    /// Return the view of components `first`, ..., `first + number - 1` of every value.
    [[nodiscard]] BasicArrayView select_components(std::int64_t first, std::int64_t number) const {
        assert(first >= 0 && number >= 1 && first + number <= components);
        BasicArrayView part = *this;
        part.data += first * layout.component_stride;
        part.components = number;
        return part;
    }

    /// Bytes from the first value to the last, both included.
    [[nodiscard]] std::int64_t span() const {
        if (Box::of(count).empty())
            return 0;
        std::int64_t last = (components - 1) * layout.component_stride;
        for (std::size_t i = 0; i < 3; ++i)
            last += (count[i] - 1) * layout.strides[i];
        return last + scalar_bytes;
    }

    /// Bytes of the values, without gaps.
    [[nodiscard]] std::int64_t bytes() const {
        return Box::of(count).volume() * components * scalar_bytes;
    }

    operator BasicArrayView<const Byte>() const
        requires(!std::is_const_v<Byte>)
    {
        return {data, count, layout, components, scalar_bytes};
    }
};

using ArrayView = BasicArrayView<std::byte>;
using ConstArrayView = BasicArrayView<const std::byte>;

/// Return the view of an array without gaps, with adjacent components.
template <class Byte>
[[nodiscard]] BasicArrayView<Byte> packed_view(Byte* data, const Extent& count,
                                               std::int64_t components, std::int64_t scalar_bytes) {
    return {data, count, interleaved(count, components, scalar_bytes), components, scalar_bytes};
}

} // namespace uzushio::staging
