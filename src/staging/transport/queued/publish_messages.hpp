#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "staging/datamodel/step_info.hpp"
#include "staging/wire/messages.hpp"

/// Messages between the ranks of a writer that publish a step, and their encoding.
namespace uzushio::staging::queued {

/// 1. Every rank to rank 0: this rank's part.
struct StepOffer {
    bool failed = false;
    std::uint64_t bytes = 0;      ///< of its segment
    StepInfo head;                ///< index, time and attributes only
    std::optional<StepInfo> part; ///< its table, if it differs from that of the last step
    bool operator==(const StepOffer&) const = default;
};

/// 2. Rank 0 to all: whether the step is accepted.
struct AdmissionDecision {
    bool failed = false;
    bool accepted = false;
    bool new_table = false;
    std::uint64_t max_steps = 0;     ///< maximum number of steps in the queue
    std::vector<std::uint64_t> kept; ///< sequence numbers of steps that readers may still request
    bool operator==(const AdmissionDecision&) const = default;
};

/// 3. Every rank to rank 0, when its values are stored.
struct StoreResult {
    bool failed = false;
    SegmentPlace place;
    std::vector<std::uint32_t> checksums; ///< of its arrays; or none
    bool operator==(const StoreResult&) const = default;
};

/// 4. Rank 0 to all: whether the step was published.
struct PublishDecision {
    bool failed = false;
    bool operator==(const PublishDecision&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode(const StepOffer& offer);
[[nodiscard]] std::vector<std::byte> encode(const AdmissionDecision& decision);
[[nodiscard]] std::vector<std::byte> encode(const StoreResult& result);
[[nodiscard]] std::vector<std::byte> encode(const PublishDecision& decision);
/// Throws DecodeError if the bytes are not such a message, or a part does not pass `validate`.
template <class T> [[nodiscard]] T decode(std::span<const std::byte> bytes);
extern template StepOffer decode(std::span<const std::byte>);
extern template AdmissionDecision decode(std::span<const std::byte>);
extern template StoreResult decode(std::span<const std::byte>);
extern template PublishDecision decode(std::span<const std::byte>);

} // namespace uzushio::staging::queued
