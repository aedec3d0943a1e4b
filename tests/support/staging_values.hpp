#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/box.hpp"
#include "staging/datamodel/scalar_type.hpp"
#include "support/seeded.hpp"

namespace uzushio::staging::suite {

using seeded::draw;
using seeded::Random;

inline bool chance(Random& random, double probability) {
    return std::bernoulli_distribution(probability)(random);
}

template <class Each> void for_each_index(const Box& box, Each each) {
    for (std::int64_t z = box.lower[0]; z < box.upper[0]; ++z)
        for (std::int64_t y = box.lower[1]; y < box.upper[1]; ++y)
            for (std::int64_t x = box.lower[2]; x < box.upper[2]; ++x)
                each(Extent{z, y, x});
}

template <class Byte>
Byte* at(const BasicArrayView<Byte>& view, const Extent& index, std::int64_t component) {
    return view.data + index[0] * view.layout.strides[0] + index[1] * view.layout.strides[1] +
           index[2] * view.layout.strides[2] + component * view.layout.component_stride;
}

/// Return the bits from which a value is made: a hash of field, step, index and component.
inline std::uint64_t expected_bits(std::uint64_t field, std::int64_t step, const Extent& index,
                                   std::int64_t component) {
    std::uint64_t hash = field * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(step);
    const auto mix = [&hash](std::int64_t number) {
        hash ^= static_cast<std::uint64_t>(number) + 0x9E3779B97F4A7C15u + (hash << 6);
        hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9u;
        hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBu;
        hash ^= hash >> 31;
    };
    for (const std::int64_t i : index)
        mix(i);
    mix(component);
    return hash;
}

/// Return the bytes of the value with these bits in a type; reals are finite and exact.
inline std::array<std::byte, 8> value_of(ScalarType type, std::uint64_t bits) {
    std::array<std::byte, 8> bytes{};
    const auto store = [&bytes](auto v) { std::memcpy(bytes.data(), &v, sizeof v); };
    if (type == ScalarType::float32)
        store(static_cast<float>(static_cast<std::int64_t>(bits >> 40) - (1 << 23)));
    else if (type == ScalarType::float64)
        store(static_cast<double>(static_cast<std::int64_t>(bits >> 12) - (std::int64_t{1} << 51)) /
              1024);
    else
        store(bits); // the lowest bytes of it
    return bytes;
}

/// Array with a random layout: axes and components in any order, with gaps. All of its memory is
/// filled with one byte, so that writes into the gaps are detected.
class GuardedArray {
  public:
    static constexpr std::byte filling{0xA5};

    GuardedArray(Random& random, const Extent& count, std::int64_t components,
                 std::int64_t scalar_bytes) {
        std::array<std::size_t, 4> order{0, 1, 2, 3};
        std::shuffle(order.begin(), order.end(), random);
        std::int64_t stride = scalar_bytes * draw(random, 1, 2);
        ArrayLayout layout;
        for (const std::size_t axis : order) {
            (axis == 3 ? layout.component_stride : layout.strides[axis]) = stride;
            stride *= std::max<std::int64_t>(1, axis == 3 ? components : count[axis]);
            stride += scalar_bytes * (chance(random, 0.3) ? draw(random, 1, 3) : 0);
        }
        const std::int64_t before = scalar_bytes * draw(random, 0, 3);
        memory_.assign(static_cast<std::size_t>(before + stride), filling);
        view_ = {memory_.data() + before, count, layout, components, scalar_bytes};
    }
    GuardedArray(GuardedArray&&) = default;

    [[nodiscard]] const ArrayView& view() const { return view_; }
    [[nodiscard]] std::vector<std::byte>& memory() { return memory_; }
    void overwrite(std::byte value) { std::fill(memory_.begin(), memory_.end(), value); }

    /// Return the number of changed bytes that belong to no value.
    [[nodiscard]] std::int64_t overwritten_gaps() const {
        std::vector<bool> of_value(memory_.size());
        for_each_index({{}, view_.count}, [&](const Extent& index) {
            for (std::int64_t c = 0; c < view_.components; ++c) {
                const auto start = static_cast<std::size_t>(at(view_, index, c) - memory_.data());
                for (std::size_t i = 0; i < static_cast<std::size_t>(view_.scalar_bytes); ++i)
                    of_value[start + i] = true;
            }
        });
        std::int64_t overwritten = 0;
        for (std::size_t i = 0; i < memory_.size(); ++i)
            overwritten += !of_value[i] && memory_[i] != filling;
        return overwritten;
    }

  private:
    std::vector<std::byte> memory_;
    ArrayView view_;
};

} // namespace uzushio::staging::suite
