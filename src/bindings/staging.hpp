#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>

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

namespace nanobind::detail {

/// A box is (start, count) in Python, each (z, y, x).
template <> struct type_caster<uzushio::staging::Box> {
    using Pair = std::pair<uzushio::staging::Extent, uzushio::staging::Extent>;
    NB_TYPE_CASTER(uzushio::staging::Box, make_caster<Pair>::Name)

    bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
        make_caster<Pair> pair;
        if (!pair.from_python(source, flags, cleanup))
            return false;
        const auto [start, count] = static_cast<Pair>(pair);
        value = uzushio::staging::box_of(start, count);
        return true;
    }
    static handle from_cpp(const Value& box, rv_policy policy, cleanup_list* cleanup) noexcept {
        return make_caster<Pair>::from_cpp(Pair{box.lower, box.extents()}, policy, cleanup);
    }
};

} // namespace nanobind::detail

/// Conversions between staging's values and Python, for the files staging_*.cpp.
namespace uzushio::bindings {

using Values = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;
using Target = nanobind::ndarray<nanobind::device::cpu>;
/// Ghost widths in Python: (lower, upper), each (z, y, x).
using GhostPair = std::pair<std::array<std::uint16_t, 3>, std::array<std::uint16_t, 3>>;

inline staging::Ghosts ghosts(const GhostPair& pair) { return {pair.first, pair.second}; }
inline std::chrono::nanoseconds nanoseconds(double seconds) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}
inline double seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

/// Return a function for Python that calls a member of the writer or reader in a `Handle`.
template <class Handle, class Class, class Result, class... Arguments>
auto calling(Result (Class::*member)(Arguments...)) {
    return [member](Handle& handle, Arguments... arguments) {
        return handle(member, std::forward<Arguments>(arguments)...);
    };
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
