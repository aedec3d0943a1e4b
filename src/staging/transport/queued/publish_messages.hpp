#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "staging/datamodel/step_info.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/messages.hpp"
#include "staging/wire/parts.hpp"
#include "staging/wire/step_codec.hpp"

/// Messages between the ranks of a writer that publish a step. In a fourth one, of one byte, rank 0
/// broadcasts whether the step was published.
namespace uzushio::staging::queued {

/// 1. Every rank to rank 0: this rank's part.
struct StepOffer {
    bool failed = false;
    std::uint64_t bytes = 0;      ///< of its segment
    StepInfo head;                ///< index, time and attributes only
    std::optional<StepInfo> part; ///< its table, if it differs from that of the last step
};

/// 2. Rank 0 to all: whether the step is accepted.
struct AdmissionDecision {
    bool failed = false;
    bool accepted = false;
    bool new_table = false;
    std::uint64_t max_steps = 0;     ///< maximum number of steps in the queue
    std::vector<std::uint64_t> kept; ///< sequence numbers of steps that readers may still request
};

/// 3. Every rank to rank 0, when its values are stored.
struct StoreResult {
    bool failed = false;
    SegmentPlace place;
    std::vector<std::uint32_t> checksums; ///< of its arrays; or none
};

template <class Wire> void parts(Wire& wire, Is<StepOffer> auto& offer) {
    wire.flag(offer.failed, "state");
    wire.number(offer.bytes);
    parts(wire, offer.head);
    bool given = offer.part.has_value();
    wire.flag(given, "kind of table");
    if (!given)
        return;
    if constexpr (Wire::decodes)
        offer.part.emplace();
    parts(wire, *offer.part);
}

template <class Wire> void parts(Wire& wire, Is<AdmissionDecision> auto& decision) {
    wire.flag(decision.failed, "state");
    wire.flag(decision.accepted, "state");
    wire.flag(decision.new_table, "state");
    wire.number(decision.max_steps);
    wire.list(decision.kept, 8, "steps", [&](auto& sequence) { wire.number(sequence); });
}

template <class Wire> void parts(Wire& wire, Is<StoreResult> auto& result) {
    wire.flag(result.failed, "state");
    parts(wire, result.place);
    wire.list(result.checksums, 4, "checksums", [&](auto& sum) { wire.number(sum); });
}

} // namespace uzushio::staging::queued
