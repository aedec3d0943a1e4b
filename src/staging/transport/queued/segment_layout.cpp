#include "staging/transport/queued/segment_layout.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <utility>

#include "staging/datamodel/copy.hpp"
#include "staging/require.hpp"

namespace uzushio::staging::queued {
namespace {

bool is_inside(const ConstArrayView& view, std::span<const std::byte> memory) {
    const std::less<const std::byte*> before;
    const std::int64_t bytes = view.span();
    return bytes > 0 && !memory.empty() && !before(view.data, memory.data()) &&
           before(view.data, memory.data() + memory.size()) &&
           bytes <= memory.data() + memory.size() - view.data;
}

/// Call `work(block, array, index in values)` for all arrays in the table's order.
template <class Step, class Work> void for_each_array(Step& part, Work&& work) {
    std::size_t i = 0;
    for (auto& block : part.blocks)
        for (auto& array : block.arrays)
            work(block, array, i++);
}

void require_shapes(const LocalStep& step) {
    std::size_t arrays = 0;
    for (const Block& block : step.part.blocks)
        arrays += block.arrays.size();
    require(arrays == step.values.size(), "A step with ", arrays, " arrays has values of ",
            step.values.size(), ".");
    for_each_array(step.part, [&](const Block& block, const StoredArray& array, std::size_t i) {
        require(array.field < step.part.fields.size(), "An array of block ", block.id,
                " refers to a field that does not exist.");
        const Field& field = step.part.fields[array.field];
        const ConstArrayView& view = step.values[i];
        const Box box = stored_box(step.part, block, array);
        require(
            view.count == box.extents() && view.components == field.components &&
                view.scalar_bytes == size_of(field.type),
            "The values of field \"", field.name, "\" on block ", block.id,
            " do not have the shape of ", [&] { return box_text(box); },
            ", its box with ghost layers.");
    });
}

} // namespace

ArrayLayout packed_layout(const ConstArrayView& view) {
    ArrayLayout layout;
    struct Loop {
        std::int64_t count, stride;
        std::int64_t* packed;
    };
    // Innermost first in the default order, which applies where strides are equal.
    std::array<Loop, 4> loops{
        {{view.components, view.layout.component_stride, &layout.component_stride},
         {view.count[2], view.layout.strides[2], &layout.strides[2]},
         {view.count[1], view.layout.strides[1], &layout.strides[1]},
         {view.count[0], view.layout.strides[0], &layout.strides[0]}}};
    const auto flat = std::stable_partition(loops.begin(), loops.end(),
                                            [](const Loop& loop) { return loop.count > 1; });
    std::stable_sort(loops.begin(), flat,
                     [](const Loop& a, const Loop& b) { return a.stride < b.stride; });
    std::int64_t stride = view.scalar_bytes;
    for (auto loop = loops.begin(); loop != flat; ++loop) {
        *loop->packed = stride;
        stride *= loop->count;
    }
    // The stride of an axis with one index is unused; component stride 1 value is best.
    for (auto loop = flat; loop != loops.end(); ++loop)
        *loop->packed = loop->packed == &layout.component_stride ? view.scalar_bytes : stride;
    return layout;
}

SegmentLayout lay_out(LocalStep step, std::uint32_t rank, std::span<const std::byte> in_place) {
    require_shapes(step);
    SegmentLayout to{std::move(step.part), std::move(step.values), 0};
    to.part.index = 0;
    to.part.time = 0;
    to.part.attributes.clear();
    for (Block& block : to.part.blocks)
        block.rank = rank;
    for_each_array(to.part, [&](const Block&, StoredArray& array, std::size_t i) {
        const ConstArrayView& view = to.values[i];
        array.checksum.reset();
        if (!is_inside(view, in_place))
            return;
        array.layout = view.layout;
        array.offset = static_cast<std::uint64_t>(view.data - in_place.data());
        to.bytes = std::max(to.bytes, array.offset + static_cast<std::size_t>(view.span()));
    });
    for_each_array(to.part, [&](const Block&, StoredArray& array, std::size_t i) {
        const ConstArrayView& view = to.values[i];
        if (is_inside(view, in_place))
            return;
        array.layout = packed_layout(view);
        array.offset = aligned(to.bytes);
        to.bytes = array.offset + static_cast<std::size_t>(view.bytes());
    });
    return to;
}

std::size_t fill(const SegmentLayout& layout, std::span<std::byte> segment) {
    assert(layout.bytes <= segment.size());
    std::size_t copied = 0;
    for_each_array(layout.part, [&](const Block&, const StoredArray& array, std::size_t i) {
        const ConstArrayView& from = layout.values[i];
        std::byte* const place = segment.data() + array.offset;
        if (from.bytes() == 0 || from.data == place)
            return;
        copy(from, {place, from.count, array.layout, from.components, from.scalar_bytes});
        copied += static_cast<std::size_t>(from.bytes());
    });
    return copied;
}

} // namespace uzushio::staging::queued
