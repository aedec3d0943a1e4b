#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/read_plan.hpp"
#include "staging/datamodel/step_info.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// Return the values that a request names, in the segment of rank `rank`. The request is untrusted:
/// throws ModelError if the rank has no such block, array, box or component. The text of the error
/// can be sent to the reader.
[[nodiscard]] ConstArrayView select(const StepInfo& step, std::uint32_t rank,
                                    const PieceRequest& request,
                                    std::span<const std::byte> segment);

/// Return the request for a whole piece with all components, in the order that is cheapest for the
/// sending rank.
[[nodiscard]] PieceRequest request_of(const StepInfo& step, const Piece& piece,
                                      std::uint64_t sequence, std::uint64_t request);

} // namespace uzushio::staging
