#include "staging/transport/queued/publishing.hpp"

#include "staging/wire/decoder.hpp"
#include "staging/wire/encoder.hpp"
#include "staging/wire/step_codec.hpp"

namespace uzushio::staging::queued {
namespace {

// As in step_codec.cpp, one overload of `pass` describes both directions.

template <class T, class Object>
concept Is = std::same_as<std::remove_const_t<T>, Object>;

template <class Wire> void pass_info(Wire& wire, auto& info) {
    if constexpr (Wire::decodes)
        staging::decode(wire, info);
    else
        staging::encode(wire, info);
}

template <class Wire> void pass(Wire& wire, Is<Offer> auto& offer) {
    wire.flag(offer.failed, "state");
    wire.number(offer.bytes);
    pass_info(wire, offer.head);
    bool given = offer.part.has_value();
    wire.flag(given, "kind of table");
    if (!given)
        return;
    if constexpr (Wire::decodes)
        offer.part.emplace();
    pass_info(wire, *offer.part);
}

template <class Wire> void pass(Wire& wire, Is<Decision> auto& decision) {
    wire.flag(decision.failed, "state");
    wire.flag(decision.accepted, "state");
    wire.flag(decision.new_table, "state");
    wire.number(decision.most_steps);
    wire.list(decision.kept, 8, "steps", [&](auto& sequence) { wire.number(sequence); });
}

template <class Wire> void pass(Wire& wire, Is<Outcome> auto& outcome) {
    wire.flag(outcome.failed, "state");
    wire.number(outcome.place.process);
    wire.number(outcome.place.handle);
    wire.number(outcome.place.bytes);
    wire.number(outcome.place.token);
    wire.list(outcome.checksums, 4, "checksums", [&](auto& sum) { wire.number(sum); });
}

template <class Wire> void pass(Wire& wire, Is<Verdict> auto& verdict) {
    wire.flag(verdict.failed, "state");
}

std::vector<std::byte> bytes_of(const auto& message) {
    Encoder encoder;
    pass(encoder, message);
    return encoder.take();
}

} // namespace

std::vector<std::byte> encode(const Offer& offer) { return bytes_of(offer); }
std::vector<std::byte> encode(const Decision& decision) { return bytes_of(decision); }
std::vector<std::byte> encode(const Outcome& outcome) { return bytes_of(outcome); }
std::vector<std::byte> encode(const Verdict& verdict) { return bytes_of(verdict); }

template <class T> T decode(std::span<const std::byte> bytes) {
    Decoder decoder(bytes, Limits{});
    T message;
    pass(decoder, message);
    decoder.finish();
    return message;
}

template Offer decode(std::span<const std::byte>);
template Decision decode(std::span<const std::byte>);
template Outcome decode(std::span<const std::byte>);
template Verdict decode(std::span<const std::byte>);

} // namespace uzushio::staging::queued
