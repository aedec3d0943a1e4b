#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>

namespace nanobind::detail {

/// Arguments of type `std::span<double>` accept C-contiguous arrays, without a copy if they are
/// declared `noconvert`.
template <class T> struct type_caster<std::span<T>> {
    using Array = ndarray<T, c_contig, device::cpu>;
    NB_TYPE_CASTER(std::span<T>, make_caster<Array>::Name)

    bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
        if (!array.from_python(source, flags, cleanup))
            return false;
        value = {array.value.data(), array.value.size()};
        return true;
    }

    make_caster<Array> array; ///< holds the buffer during the call
};

} // namespace nanobind::detail
