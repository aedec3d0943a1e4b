#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "staging/wire/decode_limits.hpp"
#include "staging/wire/decoder.hpp"
#include "staging/wire/encoder.hpp"

/// Encoding of objects of which one function, `parts(wire, object)` in the namespace of the object,
/// defines both directions: `wire` is an Encoder (of a const object) or a Decoder.
namespace uzushio::staging {

/// T is Object or const Object.
template <class T, class Object>
concept Is = std::same_as<std::remove_const_t<T>, Object>;

[[nodiscard]] std::vector<std::byte> encode_parts(const auto& object) {
    Encoder encoder;
    parts(encoder, object);
    return encoder.take();
}

/// Throws DecodeError if the bytes are not such an object.
template <class T>
[[nodiscard]] T decode_parts(std::span<const std::byte> bytes, const DecodeLimits& limits = {}) {
    Decoder decoder(bytes, limits);
    T object;
    parts(decoder, object);
    decoder.finish();
    return object;
}

} // namespace uzushio::staging
