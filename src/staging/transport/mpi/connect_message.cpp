#include "staging/transport/mpi/connect_message.hpp"

#include "staging/wire/decoder.hpp"
#include "staging/wire/encoder.hpp"

namespace uzushio::staging::mpi {
namespace {

template <class Codec, class L> void exchange(Codec& codec, L& message) {
    codec.choice(message.kind, ConnectMessage::Kind::request, ConnectMessage::Kind::detach,
                 "kind of message");
    codec.number(message.version);
    codec.number(message.attempt);
    codec.number(message.from);
    codec.text(message.stream, "name of a stream");
    codec.number(message.channel);
    codec.choice(message.mode, MpiMode::two_sided, MpiMode::pull, "mode");
    codec.list(message.ranks, sizeof(std::int32_t), "ranks",
               [&](auto& rank) { codec.number(rank); });
    codec.text(message.text, "reason");
}

} // namespace

std::vector<std::byte> encode(const ConnectMessage& message) {
    Encoder to;
    exchange(to, message);
    return to.take();
}

ConnectMessage decode_connect_message(std::span<const std::byte> bytes) {
    Decoder from(bytes, DecodeLimits{});
    ConnectMessage message;
    exchange(from, message);
    from.finish();
    return message;
}

} // namespace uzushio::staging::mpi
