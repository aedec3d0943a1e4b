#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/attribute.hpp"
#include "staging/datamodel/box.hpp"
#include "staging/datamodel/field.hpp"
#include "staging/datamodel/ghosts.hpp"
#include "staging/datamodel/scalar_type.hpp"

/// Conversions between staging's values and Python, for the files staging_*.cpp.
namespace uzushio::bindings {

using Values = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;
using Target = nanobind::ndarray<nanobind::device::cpu>;
/// A box in Python: (start, count), each (z, y, x).
using BoxPair = std::pair<staging::Extent, staging::Extent>;
/// Ghost widths in Python: (lower, upper), each (z, y, x).
using GhostPair = std::pair<std::array<std::uint16_t, 3>, std::array<std::uint16_t, 3>>;

inline staging::Box box(const BoxPair& pair) { return staging::box_of(pair.first, pair.second); }
inline BoxPair pair(const staging::Box& box) { return {box.lower, box.extents()}; }
inline staging::Ghosts ghosts(const GhostPair& pair) { return {pair.first, pair.second}; }
inline std::chrono::nanoseconds nanoseconds(double seconds) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

/// Parse "vertex" or "element".
staging::Association association(const std::string& name);
/// Parse NumPy's name of a type that staging supports.
staging::ScalarType scalar_type(const std::string& name);
nanobind::dict to_dict(const std::vector<staging::Attribute>& attributes);
std::vector<staging::Attribute> to_attributes(const nanobind::dict& attributes);

/// Return a view of an array [z, y, x, component] with its strides. Axes before x may be omitted,
/// and the component axis if there is one component.
staging::ConstArrayView values_of(const Values& array, bool component_axis = true);
staging::ArrayView values_of(const Target& array, bool component_axis = true);
/// Return a NumPy array [z, y, x, component] on memory that `owner` keeps alive; none: the caller
/// does.
nanobind::object to_numpy(const staging::ConstArrayView& view, staging::ScalarType type,
                          nanobind::handle owner);
nanobind::object to_numpy(const staging::ArrayView& view, staging::ScalarType type,
                          nanobind::handle owner);

void bind_staging_model(nanobind::module_& module);
void bind_staging_writer(nanobind::module_& module);
void bind_staging_reader(nanobind::module_& module);
void bind_staging_relay(nanobind::module_& module);

} // namespace uzushio::bindings
