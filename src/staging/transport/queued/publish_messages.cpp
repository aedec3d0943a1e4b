#include "staging/transport/queued/publish_messages.hpp"

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

template <class Wire> void pass(Wire& wire, Is<StepOffer> auto& offer) {
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

template <class Wire> void pass(Wire& wire, Is<AdmissionDecision> auto& decision) {
    wire.flag(decision.failed, "state");
    wire.flag(decision.accepted, "state");
    wire.flag(decision.new_table, "state");
    wire.number(decision.max_steps);
    wire.list(decision.kept, 8, "steps", [&](auto& sequence) { wire.number(sequence); });
}

template <class Wire> void pass(Wire& wire, Is<StoreResult> auto& result) {
    wire.flag(result.failed, "state");
    wire.number(result.place.process);
    wire.number(result.place.handle);
    wire.number(result.place.bytes);
    wire.number(result.place.token);
    wire.list(result.checksums, 4, "checksums", [&](auto& sum) { wire.number(sum); });
}

template <class Wire> void pass(Wire& wire, Is<PublishDecision> auto& decision) {
    wire.flag(decision.failed, "state");
}

std::vector<std::byte> bytes_of(const auto& message) {
    Encoder encoder;
    pass(encoder, message);
    return encoder.take();
}

} // namespace

std::vector<std::byte> encode(const StepOffer& offer) { return bytes_of(offer); }
std::vector<std::byte> encode(const AdmissionDecision& decision) { return bytes_of(decision); }
std::vector<std::byte> encode(const StoreResult& result) { return bytes_of(result); }
std::vector<std::byte> encode(const PublishDecision& decision) { return bytes_of(decision); }

template <class T> T decode(std::span<const std::byte> bytes) {
    Decoder decoder(bytes, DecodeLimits{});
    T message;
    pass(decoder, message);
    decoder.finish();
    return message;
}

template StepOffer decode(std::span<const std::byte>);
template AdmissionDecision decode(std::span<const std::byte>);
template StoreResult decode(std::span<const std::byte>);
template PublishDecision decode(std::span<const std::byte>);

} // namespace uzushio::staging::queued
