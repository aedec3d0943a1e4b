#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "staging/datamodel/step_info.hpp"
#include "staging/wire/messages.hpp"

/// What the ranks of a writer tell each other to publish a step, and how it becomes bytes.
namespace uzushio::staging::queued {

/// 1. Every rank to rank 0: what it has.
struct Offer {
    bool failed = false;
    std::uint64_t bytes = 0;      ///< of its segment
    StepInfo head;                ///< index, time and attributes alone
    std::optional<StepInfo> part; ///< its table, if that is not the one of the last step
    bool operator==(const Offer&) const = default;
};

/// 2. Rank 0 to all: what becomes of it.
struct Decision {
    bool failed = false;
    bool accepted = false;
    bool new_table = false;
    std::uint64_t most_steps = 0;    ///< that there may be at a time
    std::vector<std::uint64_t> kept; ///< sequence numbers of steps that readers may still ask for
    bool operator==(const Decision&) const = default;
};

/// 3. Every rank to rank 0, with its values in place.
struct Outcome {
    bool failed = false;
    SegmentPlace place;
    std::vector<std::uint32_t> checksums; ///< of its arrays; or none
    bool operator==(const Outcome&) const = default;
};

/// 4. Rank 0 to all: readers have it.
struct Verdict {
    bool failed = false;
    bool operator==(const Verdict&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode(const Offer& offer);
[[nodiscard]] std::vector<std::byte> encode(const Decision& decision);
[[nodiscard]] std::vector<std::byte> encode(const Outcome& outcome);
[[nodiscard]] std::vector<std::byte> encode(const Verdict& verdict);
/// Throws DecodeError if the bytes are no such thing, or a part that `validate` refuses.
template <class T> [[nodiscard]] T decode(std::span<const std::byte> bytes);
extern template Offer decode(std::span<const std::byte>);
extern template Decision decode(std::span<const std::byte>);
extern template Outcome decode(std::span<const std::byte>);
extern template Verdict decode(std::span<const std::byte>);

} // namespace uzushio::staging::queued
