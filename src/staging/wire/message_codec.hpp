#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "staging/sentence.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/decode_limits.hpp"
#include "staging/wire/frame_header.hpp"
#include "staging/wire/messages.hpp"
#include "staging/wire/parts.hpp"

namespace uzushio::staging {

/// Encode a message with its header. Throws std::length_error if the length of its body exceeds 32
/// bits.
[[nodiscard]] std::vector<std::byte> encode(const Message& message);

/// Decode a body with the header `frame`. Throws DecodeError.
[[nodiscard]] Message decode(const FrameHeader& frame, std::span<const std::byte> body,
                             const DecodeLimits& limits = {});

/// Decode a whole message with its header. Throws DecodeError.
[[nodiscard]] Message decode_message(std::span<const std::byte> bytes,
                                     const DecodeLimits& limits = {});

/// Decode a whole message that must be of this type. Throws DecodeError.
template <class Expected> [[nodiscard]] Expected decode_as(std::span<const std::byte> bytes) {
    Message message = decode_message(bytes);
    if (auto* expected = std::get_if<Expected>(&message))
        return std::move(*expected);
    throw DecodeError(
        sentence("A message of the type ", message.index() + 1, " was not expected here."));
}

/// Type of a message on the wire.
template <class M>
inline constexpr std::uint16_t wire_type = []<class... T>(std::variant<T...>*) {
    std::uint16_t type = 0;
    (void)((++type, std::is_same_v<M, T>) || ...);
    return type;
}(static_cast<Message*>(nullptr));

/// Return whether a whole message is of a type, by its header only.
template <class M> [[nodiscard]] bool is_type(std::span<const std::byte> bytes) {
    return bytes.size() >= FrameHeader::size &&
           decode_frame_header(bytes.first<FrameHeader::size>()).type == wire_type<M>;
}

/// Parts of objects of which several messages consist; see parts.hpp.
template <class Wire> void parts(Wire& wire, Is<Endpoints> auto& endpoints) {
    wire.list(endpoints.ranks, 8, "endpoints", [&](auto& endpoint) {
        wire.text(endpoint.address, "address");
        wire.text(endpoint.node, "node");
    });
    wire.number(endpoints.session);
}
template <class Wire> void parts(Wire& wire, Is<SegmentPlace> auto& place) {
    wire.number(place.process);
    wire.number(place.handle);
    wire.number(place.bytes);
    wire.number(place.token);
}

/// Decode a body without a check of its checksum: for checked bytes, and for fuzzing.
[[nodiscard]] Message decode_body(std::uint16_t type, std::span<const std::byte> body,
                                  const DecodeLimits& limits = {});

} // namespace uzushio::staging
