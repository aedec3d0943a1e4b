#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/piece.hpp"
#include "staging/datamodel/step_info.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// The values that a request names, in the segment of the rank that is asked. Trusts the request in
/// nothing: throws ModelError, whose text can be answered with, if there is no such block on that
/// rank, array, box or component.
[[nodiscard]] ConstArrayView select(const StepInfo& step, std::uint32_t rank,
                                    const PieceRequest& request,
                                    std::span<const std::byte> segment);

/// The request for a whole piece of a plan with all components, in the order that is cheapest for
/// the rank that sends it.
[[nodiscard]] PieceRequest request_of(const StepInfo& step, const Piece& piece,
                                      std::uint64_t sequence, std::uint64_t request);

} // namespace uzushio::staging
