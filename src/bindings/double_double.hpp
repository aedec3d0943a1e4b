#pragma once

#include <nanobind/nanobind.h>

#include "parallel/compensated_sum.hpp"

namespace nanobind::detail {

/// Results of type `DoubleDouble` become tuples (high, low).
template <> struct type_caster<uzushio::parallel::DoubleDouble> {
    NB_TYPE_CASTER(uzushio::parallel::DoubleDouble, const_name("tuple[float, float]"))

    static handle from_cpp(const Value& value, rv_policy, cleanup_list*) noexcept {
        return Py_BuildValue("(dd)", value.high, value.low);
    }
};

} // namespace nanobind::detail
