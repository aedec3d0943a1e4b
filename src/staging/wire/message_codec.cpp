#include "staging/wire/message_codec.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "staging/require.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/step_codec.hpp"

namespace uzushio::staging {
namespace {

constexpr Require<DecodeError> require_valid;

// One overload of `parts` for each message; see parts.hpp. The numbers after lists are the minimum
// bytes of an item.

template <class Wire> void parts(Wire& wire, Is<Hello> auto& m) {
    wire.number(m.version);
    wire.choice(m.role, Role::writer, Role::relay, "role");
    wire.choice(m.channel, Channel::control, Channel::data, "channel");
    wire.number(m.rank);
    wire.number(m.ranks);
    wire.number(m.target);
    wire.text(m.stream, "name");
    wire.number(m.session);
}

template <class Wire> void parts(Wire& wire, Is<Challenge> auto& m) { wire.raw(m.nonce); }

template <class Wire> void parts(Wire& wire, Is<Response> auto& m) { wire.raw(m.code); }

template <class Wire> void parts(Wire& wire, Is<Announce> auto& m) {
    wire.number(m.sequence);
    wire.list(m.places, 32, "places", [&](auto& place) { parts(wire, place); });
    parts(wire, m.step);
}

template <class Wire> void parts(Wire& wire, Is<PieceRequest> auto& m) {
    wire.number(m.request);
    wire.number(m.sequence);
    wire.number(m.block);
    wire.number(m.array);
    wire.box(m.source);
    wire.number(m.first_component);
    wire.number(m.components);
    wire.choice(m.order, ComponentOrder::interleaved, ComponentOrder::planar, "order");
    wire.flag(m.checksum, "kind of checksum");
}

template <class Wire> void parts(Wire& wire, Is<PieceData> auto& m) {
    wire.number(m.request);
    wire.number(m.offset);
    wire.number(m.bytes);
    wire.optional_number(m.checksum, "kind of checksum");
}

template <class Wire> void parts(Wire& wire, Is<Release> auto& m) { wire.number(m.sequence); }

template <class Wire> void parts(Wire&, Is<Detach> auto&) {}

template <class Wire> void parts(Wire& wire, Is<Next> auto& m) {
    wire.flag(m.latest_only, "kind of reader");
}

template <class Wire> void parts(Wire& wire, Is<End> auto& m) { wire.number(m.steps); }

template <class Wire> void parts(Wire& wire, Is<Error> auto& m) {
    wire.choice(m.code, ErrorCode::protocol, ErrorCode::internal, "error");
    wire.text(m.text, "text");
}

template <class Wire> void parts(Wire& wire, Is<ConnectMessage> auto& m) {
    wire.choice(m.kind, ConnectMessage::Kind::request, ConnectMessage::Kind::detach,
                "kind of message");
    wire.number(m.version);
    wire.number(m.attempt);
    wire.number(m.from);
    wire.text(m.stream, "name of a stream");
    wire.number(m.channel);
    wire.choice(m.mode, MpiMode::two_sided, MpiMode::pull, "mode");
    wire.list(m.ranks, sizeof(std::int32_t), "ranks", [&](auto& rank) { wire.number(rank); });
    wire.text(m.text, "reason");
}

template <class Wire> void parts(Wire& wire, Is<FetchRequest> auto& m) {
    parts(wire, m.piece);
    wire.flag(m.mode.put, "mode");
    wire.number(m.mode.tile_bytes);
}

template <class Wire> void parts(Wire& wire, Is<Credit> auto& m) { wire.number(m.offset); }

template <class Wire> void parts(Wire& wire, Is<ProgressHint> auto& m) { wire.number(m.bytes); }

template <class Wire> void parts(Wire& wire, Is<Command> auto& m) {
    wire.number(m.number);
    wire.text(m.text, "command");
}

template <class Wire> void parts(Wire& wire, Is<Reply> auto& m) {
    wire.number(m.number);
    wire.text(m.text, "reply");
}

/// Return an empty message of a type.
Message blank(std::size_t type) {
    return [type]<std::size_t... i>(std::index_sequence<i...>) {
        Message message;
        (void)((i + 1 == type ? (message.emplace<i>(), true) : false) || ...);
        return message;
    }(std::make_index_sequence<std::variant_size_v<Message>>());
}

} // namespace

std::vector<std::byte> encode(const Message& message) {
    Encoder encoder;
    std::visit([&](const auto& m) { parts(encoder, m); }, message);
    const std::vector<std::byte> body = encoder.take();
    if (body.size() > std::numeric_limits<std::uint32_t>::max())
        throw std::length_error("A message of " + std::to_string(body.size()) +
                                " bytes is too long to be sent.");
    const auto frame = encode_frame_header(static_cast<std::uint16_t>(message.index() + 1), body);
    std::vector<std::byte> bytes;
    bytes.reserve(frame.size() + body.size());
    bytes.insert(bytes.end(), frame.begin(), frame.end());
    bytes.insert(bytes.end(), body.begin(), body.end());
    return bytes;
}

Message decode(const FrameHeader& frame, std::span<const std::byte> body,
               const DecodeLimits& limits) {
    check_frame(frame, body);
    return decode_body(frame.type, body, limits);
}

Message decode_message(std::span<const std::byte> bytes, const DecodeLimits& limits) {
    require_valid(bytes.size() >= FrameHeader::size, "A message is truncated.");
    return decode(decode_frame_header(bytes.first<FrameHeader::size>(), limits),
                  bytes.subspan(FrameHeader::size), limits);
}

Message decode_body(std::uint16_t type, std::span<const std::byte> body,
                    const DecodeLimits& limits) {
    require_valid(type >= 1 && type <= std::variant_size_v<Message>,
                  "There is no message of the type ", type, ".");
    require_valid(body.size() <= limits.message_bytes, "A message of ", body.size(),
                  " bytes is larger than the ", limits.message_bytes, " allowed.");
    Decoder decoder(body, limits);
    Message message = blank(type);
    std::visit([&](auto& m) { parts(decoder, m); }, message);
    decoder.finish();
    return message;
}

} // namespace uzushio::staging
