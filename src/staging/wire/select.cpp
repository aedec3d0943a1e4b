#include "staging/wire/select.hpp"

#include <string>

#include "staging/datamodel/model_error.hpp"
#include "staging/require.hpp"

namespace uzushio::staging {
namespace {

constexpr Require<ModelError> require_valid;

} // namespace

ConstArrayView select(const StepInfo& step, std::uint32_t rank, const PieceRequest& request,
                      std::span<const std::byte> segment) {
    require_valid(request.block < step.blocks.size(), "The step has no block of the number ",
                  request.block, ".");
    const Block& block = step.blocks[request.block];
    require_valid(block.rank == rank, "Rank ", rank, " received a request for block ", block.id,
                  ", which is on rank ", block.rank, ".");
    require_valid(request.array < block.arrays.size(), "Block ", block.id,
                  " has no array of the number ", request.array, ".");
    const ConstArrayView all = view_of(step, block, block.arrays[request.array], segment);
    require_valid(
        is_valid(request.source) && Box::of(all.count).contains(request.source),
        "The requested box ",
        [&] { return is_valid(request.source) ? box_text(request.source) + " " : ""; },
        "is not inside the array, which is ", [&] { return box_text(Box::of(all.count)); }, ".");
    require_valid(request.components >= 1 && request.components <= all.components &&
                      request.first_component <= all.components - request.components,
                  "The array has ", all.components, " components, not the requested ones.");
    return all.sub(request.source).select_components(request.first_component, request.components);
}

PieceRequest request_of(const StepInfo& step, const Piece& piece, std::uint64_t sequence,
                        std::uint64_t request) {
    const Block& block = step.blocks[piece.block];
    const StoredArray& array = block.arrays[piece.array];
    return {request,
            sequence,
            piece.block,
            piece.array,
            piece.source,
            0,
            step.fields[array.field].components,
            natural_order(array.layout),
            false};
}

} // namespace uzushio::staging
