#include "staging/wire/frame_header.hpp"

#include <algorithm>
#include <variant>

#include "staging/require.hpp"
#include "staging/wire/crc32c.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/decoder.hpp"
#include "staging/wire/encoder.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging {
namespace {

constexpr Require<DecodeError> require_valid;

constexpr std::uint32_t magic = 0x31535A55u; // "UZS1"

std::vector<std::byte> head(std::uint16_t type, std::uint32_t length) {
    Encoder encoder;
    encoder.number(magic);
    encoder.number(type);
    encoder.number(std::uint16_t{0});
    encoder.number(length);
    return encoder.take();
}

} // namespace

FrameHeader decode_frame_header(std::span<const std::byte, FrameHeader::size> bytes,
                                const DecodeLimits& limits) {
    Decoder decoder(bytes, limits);
    std::uint32_t mark = 0;
    std::uint16_t zero = 0;
    FrameHeader frame;
    decoder.number(mark);
    decoder.number(frame.type);
    decoder.number(zero);
    decoder.number(frame.length);
    decoder.number(frame.checksum);
    require_valid(mark == magic, "These bytes are not a message of this protocol.");
    require_valid(frame.type >= 1 && frame.type <= std::variant_size_v<Message> && zero == 0,
                  "There is no message of the type ", frame.type, ".");
    require_valid(frame.length <= limits.message_bytes, "A message of ", frame.length,
                  " bytes is larger than the ", limits.message_bytes, " allowed.");
    return frame;
}

std::array<std::byte, FrameHeader::size> encode_frame_header(std::uint16_t type,
                                                             std::span<const std::byte> body) {
    auto bytes = head(type, static_cast<std::uint32_t>(body.size()));
    Encoder tail;
    tail.number(crc32c(body, crc32c(bytes)));
    std::array<std::byte, FrameHeader::size> frame{};
    std::copy(bytes.begin(), bytes.end(), frame.begin());
    std::copy(tail.bytes().begin(), tail.bytes().end(), frame.begin() + 12);
    return frame;
}

void check_frame(const FrameHeader& frame, std::span<const std::byte> body) {
    require_valid(body.size() == frame.length &&
                      crc32c(body, crc32c(head(frame.type, frame.length))) == frame.checksum,
                  "A message is damaged: its checksum is wrong.");
}

} // namespace uzushio::staging
