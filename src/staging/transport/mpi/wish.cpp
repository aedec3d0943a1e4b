#include "staging/transport/mpi/wish.hpp"

#include "staging/transport/mpi/windows.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/decoder.hpp"
#include "staging/wire/encoder.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::mpi {
namespace {

template <class Codec, class M> void exchange(Codec& codec, M& manner) {
    codec.flag(manner.put, "manner");
    codec.number(manner.tile_bytes);
}

} // namespace

std::vector<std::byte> encode(const Wish& wish) {
    Encoder manner;
    exchange(manner, wish.manner);
    auto bytes = staging::encode(wish.request);
    bytes.insert(bytes.end(), manner.bytes().begin(), manner.bytes().end());
    return bytes;
}

Wish decode_wish(std::span<const std::byte> bytes) {
    if (bytes.size() < Frame::size)
        throw DecodeError("A request for a piece is cut off.");
    const Frame frame = decode_frame(bytes.first<Frame::size>());
    const std::size_t end = Frame::size + frame.length;
    if (bytes.size() < end)
        throw DecodeError("A request for a piece is cut off.");
    const Message message = decode_message(bytes.first(end));
    const auto* request = std::get_if<PieceRequest>(&message);
    if (request == nullptr)
        throw DecodeError("What came is no request for a piece.");
    Wish wish{*request, {}};
    Decoder manner(bytes.subspan(end), Limits{});
    exchange(manner, wish.manner);
    manner.finish();
    if (wish.manner.tile_bytes == 0 ||
        wish.manner.tile_bytes > (wish.manner.put ? most_put_bytes : most_straight_bytes))
        throw DecodeError("A request for a piece asks for tiles of " +
                          std::to_string(wish.manner.tile_bytes) + " bytes.");
    return wish;
}

std::vector<std::byte> encode_grant(std::uint64_t offset) {
    Encoder to;
    to.number(offset);
    return to.take();
}

std::optional<std::uint64_t> decode_grant(std::span<const std::byte> bytes) {
    if (bytes.size() != sizeof(std::uint64_t))
        return {};
    std::uint64_t offset = 0;
    Decoder(bytes, Limits{}).number(offset);
    if (offset > Windows::landing_bytes - most_put_bytes)
        return {};
    return offset;
}

std::vector<std::byte> encode_hurry(std::uint64_t bytes) {
    Encoder to;
    to.number(bytes);
    return to.take();
}

std::uint64_t decode_hurry(std::span<const std::byte> bytes) {
    std::uint64_t number = 0;
    if (bytes.size() == sizeof number)
        Decoder(bytes, Limits{}).number(number);
    return number;
}

bool is_announce(std::span<const std::byte> bytes) {
    static const auto type = static_cast<std::uint16_t>(Message(Announce{}).index() + 1);
    return bytes.size() >= Frame::size && decode_frame(bytes.first<Frame::size>()).type == type;
}

Message decode_message(std::span<const std::byte> bytes) {
    if (bytes.size() < Frame::size)
        throw DecodeError("A message is cut off.");
    const auto body = bytes.subspan(Frame::size);
    const Frame frame = decode_frame(bytes.first<Frame::size>());
    if (body.size() != frame.length)
        throw DecodeError("A message has " + std::to_string(body.size()) + " bytes instead of " +
                          std::to_string(frame.length) + ".");
    return decode(frame, body);
}

} // namespace uzushio::staging::mpi
