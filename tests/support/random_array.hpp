#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/run_cursor.hpp"
#include "support/seeded.hpp"

/// Arrays with any strides, and lists of their values.
namespace uzushio::staging::arrays {

using seeded::draw;
using seeded::Random;

/// Array with its memory: axes and components nested in any order, with gaps anywhere.
struct Array {
    std::vector<std::byte> memory;
    ArrayView view;
};

inline Array random_array(Random& random, const Extent& count, std::int64_t components,
                          std::int64_t scalar_bytes) {
    const std::array<std::int64_t, 4> counts{count[0], count[1], count[2], components};
    std::array<std::size_t, 4> order{0, 1, 2, 3}; // z, y, x, component: the default
    if (draw(random, 0, 1) == 1)
        std::shuffle(order.begin(), order.end(), random);
    std::array<std::int64_t, 4> strides{};
    std::int64_t stride = scalar_bytes;
    for (std::size_t i = 4; i-- > 0;) {
        strides[order[i]] = stride;
        stride *= counts[order[i]];
        if (draw(random, 0, 2) == 0)
            stride += draw(random, 1, 17);
    }
    Array array;
    array.memory.resize(static_cast<std::size_t>(stride));
    for (auto& byte : array.memory)
        byte = static_cast<std::byte>(random());
    array.view = {array.memory.data(),
                  count,
                  {{strides[0], strides[1], strides[2]}, strides[3]},
                  components,
                  scalar_bytes};
    return array;
}

template <class Byte>
Byte* at(const BasicArrayView<Byte>& v, std::int64_t z, std::int64_t y, std::int64_t x,
         std::int64_t c) {
    return v.data + z * v.layout.strides[0] + y * v.layout.strides[1] + x * v.layout.strides[2] +
           c * v.layout.component_stride;
}

/// Return all values in this order, read one by one.
inline std::vector<std::byte> listed(const ConstArrayView& view, ComponentOrder order) {
    std::vector<std::byte> list;
    const auto take = [&](std::int64_t z, std::int64_t y, std::int64_t x, std::int64_t c) {
        const std::byte* value = at(view, z, y, x, c);
        list.insert(list.end(), value, value + view.scalar_bytes);
    };
    const bool planar = order == ComponentOrder::planar;
    for (std::int64_t p = 0; p < (planar ? view.components : 1); ++p)
        for (std::int64_t z = 0; z < view.count[0]; ++z)
            for (std::int64_t y = 0; y < view.count[1]; ++y)
                for (std::int64_t x = 0; x < view.count[2]; ++x)
                    for (std::int64_t c = 0; c < (planar ? 1 : view.components); ++c)
                        take(z, y, x, planar ? p : c);
    return list;
}

inline Box random_box(Random& random, const Extent& within, const Extent& count) {
    Extent first;
    for (std::size_t a = 0; a < 3; ++a)
        first[a] = draw(random, 0, within[a] - count[a]);
    return Box::at(first, count);
}

} // namespace uzushio::staging::arrays
