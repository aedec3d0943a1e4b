#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "staging/reader.hpp"
#include "staging/writer.hpp"

namespace uzushio::staging::test {

/// Minimum stream: one block of n values of the field "u", all equal to the step's index. A step
/// that is a mixture of two has different values.
class Flow {
  public:
    static constexpr std::int64_t default_size = 50'000;

    Flow(Writer& writer, std::int64_t n = default_size) : writer_(writer), values_(n) {
        writer.uniform_mesh("mesh", box(n), {}, {1, 1, 1});
        writer.field("u", "mesh", Association::element, ScalarType::float64);
        writer.block(0, "mesh", box(n));
    }

    std::optional<std::uint64_t> publish(std::int64_t index) {
        writer_.begin_step(index, 0.0);
        std::fill(values_.begin(), values_.end(), static_cast<double>(index));
        writer_.put("u", 0, values_.data());
        const auto sequence = writer_.end_step();
        std::fill(values_.begin(), values_.end(), -1.0); // the solver continues
        return sequence;
    }

    static Box box(std::int64_t n) { return {{}, {1, 1, n}}; }

    /// Return whether all values of a step are those published.
    static bool is_complete(Reader& reader) {
        const std::int64_t n = reader.step().topologies.at(0).elements.extent(2);
        std::vector<double> values(static_cast<std::size_t>(n));
        reader.read("u", box(n),
                    packed_view(reinterpret_cast<std::byte*>(values.data()), {1, 1, n}, 1, 8));
        const auto index = static_cast<double>(reader.step().index);
        return std::all_of(values.begin(), values.end(), [&](double v) { return v == index; });
    }

  private:
    Writer& writer_;
    std::vector<double> values_;
};

} // namespace uzushio::staging::test
