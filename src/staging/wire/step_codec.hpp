#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "staging/datamodel/step_info.hpp"
#include "staging/wire/decoder.hpp"
#include "staging/wire/encoder.hpp"
#include "staging/wire/limits.hpp"

namespace uzushio::staging {

void encode(Encoder& to, const StepInfo& step);
/// The result is valid: throws DecodeError where `validate` finds a fault.
void decode(Decoder& from, StepInfo& step);

/// A whole step by itself: for ranks that gather their parts, and for files.
[[nodiscard]] std::vector<std::byte> encode_step(const StepInfo& step);
[[nodiscard]] StepInfo decode_step(std::span<const std::byte> bytes, const Limits& limits = {});

} // namespace uzushio::staging
