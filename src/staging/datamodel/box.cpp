#include "staging/datamodel/box.hpp"

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

std::string to_string(const Box& box, int dimension) {
    const auto range = [&](std::size_t axis) {
        return std::to_string(box.start[axis] + (fortran ? 1 : 0)) + ":" +
               std::to_string(box.end(axis));
    };
    const std::string ranges = joined(dimension, ", ", range);
    return fortran ? "(" + ranges + ")" : "[" + ranges + "]";
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
