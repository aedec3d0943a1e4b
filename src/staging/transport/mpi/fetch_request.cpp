#include "staging/transport/mpi/fetch_request.hpp"

#include "staging/transport/mpi/windows.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/decoder.hpp"
#include "staging/wire/encoder.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::mpi {
namespace {

template <class Codec, class M> void exchange(Codec& codec, M& mode) {
    codec.flag(mode.put, "mode");
    codec.number(mode.tile_bytes);
}

} // namespace

std::vector<std::byte> encode(const FetchRequest& request) {
    Encoder mode;
    exchange(mode, request.mode);
    auto bytes = staging::encode(request.piece);
    bytes.insert(bytes.end(), mode.bytes().begin(), mode.bytes().end());
    return bytes;
}

FetchRequest decode_fetch_request(std::span<const std::byte> bytes) {
    if (bytes.size() < FrameHeader::size)
        throw DecodeError("A request for a piece is truncated.");
    const FrameHeader frame = decode_frame_header(bytes.first<FrameHeader::size>());
    const std::size_t end = FrameHeader::size + frame.length;
    if (bytes.size() < end)
        throw DecodeError("A request for a piece is truncated.");
    const Message message = decode_message(bytes.first(end));
    const auto* piece = std::get_if<PieceRequest>(&message);
    if (piece == nullptr)
        throw DecodeError("The message is not a request for a piece.");
    FetchRequest request{*piece, {}};
    Decoder mode(bytes.subspan(end), DecodeLimits{});
    exchange(mode, request.mode);
    mode.finish();
    if (request.mode.tile_bytes == 0 ||
        request.mode.tile_bytes > (request.mode.put ? max_put_bytes : max_direct_bytes))
        throw DecodeError("A request for a piece has tiles of " +
                          std::to_string(request.mode.tile_bytes) + " bytes.");
    return request;
}

std::vector<std::byte> encode_credit(std::uint64_t offset) {
    Encoder to;
    to.number(offset);
    return to.take();
}

std::optional<std::uint64_t> decode_credit(std::span<const std::byte> bytes) {
    if (bytes.size() != sizeof(std::uint64_t))
        return {};
    std::uint64_t offset = 0;
    Decoder(bytes, DecodeLimits{}).number(offset);
    if (offset > Windows::put_buffer_bytes - max_put_bytes)
        return {};
    return offset;
}

std::vector<std::byte> encode_progress_hint(std::uint64_t bytes) {
    Encoder to;
    to.number(bytes);
    return to.take();
}

std::uint64_t decode_progress_hint(std::span<const std::byte> bytes) {
    std::uint64_t number = 0;
    if (bytes.size() == sizeof number)
        Decoder(bytes, DecodeLimits{}).number(number);
    return number;
}

bool is_announce(std::span<const std::byte> bytes) {
    static const auto type = static_cast<std::uint16_t>(Message(Announce{}).index() + 1);
    return bytes.size() >= FrameHeader::size &&
           decode_frame_header(bytes.first<FrameHeader::size>()).type == type;
}

Message decode_message(std::span<const std::byte> bytes) {
    if (bytes.size() < FrameHeader::size)
        throw DecodeError("A message is truncated.");
    const auto body = bytes.subspan(FrameHeader::size);
    const FrameHeader frame = decode_frame_header(bytes.first<FrameHeader::size>());
    if (body.size() != frame.length)
        throw DecodeError("A message has " + std::to_string(body.size()) + " bytes instead of " +
                          std::to_string(frame.length) + ".");
    return decode(frame, body);
}

} // namespace uzushio::staging::mpi
