#include "staging/datamodel/box.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace uzushio::staging {
namespace {

thread_local bool fortran = false;

/// Join the text of each axis, in the order of the message.
template <class Text>
std::string joined(int dimension, const char* separator, const Text& text_of) {
    const auto axes = static_cast<std::size_t>(fortran ? dimension : 3);
    std::string text;
    for (std::size_t i = 0; i < axes; ++i)
        text += (i ? separator : "") + text_of(fortran ? 2 - i : i);
    return text;
}

} // namespace

bool is_valid(const Box& box) {
    constexpr std::int64_t max_extent = std::int64_t{1} << 40;
    constexpr std::int64_t max_bound = std::int64_t{1} << 60;
    constexpr std::int64_t max_indices = std::int64_t{1} << 56;
    std::int64_t volume = 1;
    for (std::size_t a = 0; a < 3; ++a) {
        if (box.lower[a] < -max_bound || box.lower[a] > max_bound || box.upper[a] < box.lower[a] ||
            box.upper[a] > box.lower[a] + max_extent)
            return false;
        const std::int64_t extent = std::max<std::int64_t>(1, box.extent(a));
        if (volume > max_indices / extent)
            return false;
        volume *= extent;
    }
    return true;
}

Box box_of(const Extent& start, const Extent& count) {
    Box box{start, {}};
    for (std::size_t a = 0; a < 3; ++a)
        if (__builtin_add_overflow(start[a], count[a], &box.upper[a]))
            box.upper[a] = count[a] < 0 ? std::numeric_limits<std::int64_t>::min()
                                        : std::numeric_limits<std::int64_t>::max();
    return box;
}

std::string box_text(const Box& box, int dimension) {
    if (!fortran)
        return to_string(box);
    const auto range = [&](std::size_t axis) {
        return std::to_string(box.lower[axis] + 1) + ":" + std::to_string(box.upper[axis]);
    };
    std::string text = "(";
    return text.append(joined(dimension, ", ", range)).append(")");
}

std::string counts_text(const Extent& count, int dimension) {
    constexpr std::array<const char*, 3> names{"z", "y", "x"};
    return joined(dimension, " x ", [&](std::size_t axis) { return std::to_string(count[axis]); }) +
           " (along " +
           joined(dimension, ", ", [&](std::size_t axis) { return std::string(names[axis]); }) +
           ")";
}

FortranMessageScope::FortranMessageScope() : outer_(std::exchange(fortran, true)) {}

FortranMessageScope::~FortranMessageScope() { fortran = outer_; }

} // namespace uzushio::staging
