#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "staging/datamodel/step_info.hpp"
#include "staging/wire/decode_limits.hpp"
#include "staging/wire/decoder.hpp"
#include "staging/wire/encoder.hpp"

namespace uzushio::staging {

/// Minimum bytes of a block without arrays, and of an array, in the table of a step.
constexpr std::size_t min_block_bytes = 116;
constexpr std::size_t min_array_bytes = 57;

/// See parts.hpp. Decoding validates the step, and throws DecodeError if it is invalid.
void parts(Encoder& to, const StepInfo& step);
void parts(Decoder& from, StepInfo& step);

/// Encode a step alone: for gathering parts of ranks, and for files.
[[nodiscard]] std::vector<std::byte> encode_step(const StepInfo& step);
[[nodiscard]] StepInfo decode_step(std::span<const std::byte> bytes,
                                   const DecodeLimits& limits = {});

} // namespace uzushio::staging
