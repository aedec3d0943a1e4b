#include "staging/datamodel/select.hpp"

#include <string>

#include "staging/datamodel/model_error.hpp"
#include "staging/require.hpp"

namespace uzushio::staging {
namespace {

constexpr Require<ModelError> require;

} // namespace

ConstArrayView select(const StepInfo& step, std::uint32_t rank, const PieceRequest& request,
                      std::span<const std::byte> segment) {
    require(request.block < step.blocks.size(), [&] {
        return "The step has no block of the number " + std::to_string(request.block) + ".";
    });
    const Block& block = step.blocks[request.block];
    require(block.rank == rank, [&] {
        return "Rank " + std::to_string(rank) + " received a request for block " +
               std::to_string(block.id) + ", which is on rank " + std::to_string(block.rank) + ".";
    });
    require(request.array < block.arrays.size(), [&] {
        return "Block " + std::to_string(block.id) + " has no array of the number " +
               std::to_string(request.array) + ".";
    });
    const ConstArrayView all = view_of(step, block, block.arrays[request.array], segment);
    require(is_valid(request.source) && Box::of(all.count).contains(request.source), [&] {
        return "The requested box " +
               (is_valid(request.source) ? box_text(request.source) + " " : "") +
               "is not inside the array, which is " + box_text(Box::of(all.count)) + ".";
    });
    require(request.components >= 1 && request.components <= all.components &&
                request.first_component <= all.components - request.components,
            [&] {
                return "The array has " + std::to_string(all.components) +
                       " components, not the requested ones.";
            });
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
