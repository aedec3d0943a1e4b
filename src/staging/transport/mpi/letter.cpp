#include "staging/transport/mpi/letter.hpp"

#include "staging/wire/decoder.hpp"
#include "staging/wire/encoder.hpp"

namespace uzushio::staging::mpi {
namespace {

template <class Codec, class L> void exchange(Codec& codec, L& letter) {
    codec.choice(letter.kind, Letter::Kind::knock, Letter::Kind::leave, "kind of letter");
    codec.number(letter.version);
    codec.number(letter.attempt);
    codec.number(letter.from);
    codec.text(letter.stream, "name of a stream");
    codec.number(letter.channel);
    codec.choice(letter.mode, MpiMode::two_sided, MpiMode::pull, "mode");
    codec.list(letter.ranks, sizeof(std::int32_t), "ranks",
               [&](auto& rank) { codec.number(rank); });
    codec.text(letter.text, "reason");
}

} // namespace

std::vector<std::byte> encode(const Letter& letter) {
    Encoder to;
    exchange(to, letter);
    return to.take();
}

Letter decode_letter(std::span<const std::byte> bytes) {
    Decoder from(bytes, Limits{});
    Letter letter;
    exchange(from, letter);
    from.finish();
    return letter;
}

} // namespace uzushio::staging::mpi
