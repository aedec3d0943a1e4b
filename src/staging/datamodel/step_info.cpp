#include "staging/datamodel/step_info.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "staging/datamodel/model_error.hpp"
#include "staging/require.hpp"

namespace uzushio::staging {
namespace {

constexpr std::uint64_t max_bytes = std::uint64_t{1} << 62;
constexpr std::uint32_t max_components = 1u << 16;

constexpr Require<ModelError> require_valid;

/// Return the index of the first item with this value of a member.
template <class Item, class Value, class Key>
std::optional<std::uint32_t> find(const std::vector<Item>& list, Value Item::* member,
                                  const Key& key) {
    const auto entry = std::ranges::find(list, key, member);
    if (entry == list.end())
        return std::nullopt;
    return static_cast<std::uint32_t>(entry - list.begin());
}

template <class Named>
void require_unique_names(const std::vector<Named>& list, const std::string& what) {
    std::vector<std::string_view> names;
    names.reserve(list.size());
    for (const auto& item : list)
        names.push_back(item.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    require_valid(
        twice == names.end(), "The step has two ", what, " of the name ",
        [&] { return quote(*twice); }, ".");
}

/// Return the bytes from the first value to the last; empty if the array overlaps itself or exceeds
/// 62 bits.
std::optional<std::uint64_t> span_of(const Extent& count, const ArrayLayout& layout,
                                     std::int64_t components, std::int64_t scalar_bytes) {
    if (Box::of(count).empty())
        return 0;
    struct Axis {
        std::int64_t stride, count;
    };
    std::array<Axis, 4> axes{{{layout.strides[0], count[0]},
                              {layout.strides[1], count[1]},
                              {layout.strides[2], count[2]},
                              {layout.component_stride, components}}};
    std::sort(axes.begin(), axes.end(),
              [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
    std::int64_t span = scalar_bytes;
    for (const Axis& axis : axes) {
        if (axis.count == 1)
            continue;
        std::int64_t reach = 0;
        if (axis.stride < span || __builtin_mul_overflow(axis.count - 1, axis.stride, &reach) ||
            __builtin_add_overflow(span, reach, &span) ||
            static_cast<std::uint64_t>(span) > max_bytes)
            return std::nullopt;
    }
    return static_cast<std::uint64_t>(span);
}

std::optional<std::uint64_t> span_of(const StepInfo& step, const Block& block,
                                     const StoredArray& array) {
    const Field& field = step.fields[array.field];
    return span_of(stored_box(step, block, array).extents(), array.layout, field.components,
                   size_of(field.type));
}

void validate_topologies(const StepInfo& step) {
    for (const auto& topology : step.topologies) {
        const auto subject = [&] { return sentence("Topology ", quote(topology.name)); };
        require_valid(topology.coordset < step.coordsets.size(), subject,
                      " names an unknown coordset.");
        require_valid(topology.dimension >= 1 && topology.dimension <= 3, subject,
                      " must have 1, 2 or 3 dimensions.");
        require_valid(is_valid(topology.elements), subject, " has an impossible box of elements.");
        for (std::size_t axis = 0; axis + topology.dimension < 3; ++axis)
            require_valid(topology.elements.extent(axis) <= 1, subject,
                          " has more than one element along an axis beyond its dimension.");
    }
}

void validate_fields(const StepInfo& step) {
    for (const auto& field : step.fields) {
        const auto subject = [&] { return sentence("Field ", quote(field.name)); };
        require_valid(field.topology < step.topologies.size(), subject,
                      " names an unknown topology.");
        require_valid(is_scalar_type(static_cast<std::uint8_t>(field.type)), subject,
                      " has an unknown type.");
        require_valid(field.association == Association::vertex ||
                          field.association == Association::element,
                      subject, " belongs neither to vertices nor to elements.");
        require_valid(field.components >= 1 && field.components <= max_components, subject,
                      " must have 1 to 65536 components.");
        require_unique_names(field.attributes, sentence("attributes on field ", quote(field.name)));
    }
}

void validate_coordsets(const StepInfo& step) {
    std::unordered_map<std::string_view, const Field*> fields;
    for (const auto& field : step.fields)
        fields.emplace(field.name, &field);
    for (const auto& coordset : step.coordsets) {
        const auto* coords = std::get_if<ExplicitCoords>(&coordset.coords);
        const auto field = coords != nullptr ? fields.find(coords->field) : fields.end();
        // A rank without blocks of the topology may lack the field: only a wrong one is an error.
        require_valid(field == fields.end() || field->second->association == Association::vertex,
                      "Coordset ", quote(coordset.name),
                      " takes coordinates from a field that is not on vertices.");
    }
}

void validate_array(const StepInfo& step, const Block& block, const StoredArray& array) {
    require_valid(array.field < step.fields.size(), "An array of block ", block.id,
                  " names an unknown field.");
    const Field& field = step.fields[array.field];
    const auto subject = [&] {
        return sentence("The array of field ", quote(field.name), " on block ", block.id);
    };
    require_valid(field.topology == block.topology, subject,
                  " is not on the topology of its field.");
    require_valid(span_of(step, block, array).has_value(), subject,
                  " has strides with which its values overlap or exceed memory.");
    require_valid(array.offset <= max_bytes, subject, " lies outside any memory.");
}

/// `fields` is scratch memory for the indices of a block's fields.
void validate_block(const StepInfo& step, const Block& block, std::vector<std::uint32_t>& fields) {
    const auto subject = [&] { return sentence("Block ", block.id); };
    require_valid(block.topology < step.topologies.size(), subject, " names an unknown topology.");
    const Topology& topology = step.topologies[block.topology];
    require_valid(is_valid(block.elements) && is_valid(block.vertices), subject,
                  " has an impossible box.");
    const Box vertices = vertices_of(topology.elements, topology.dimension);
    require_valid(
        topology.elements.contains(block.elements) && vertices.contains(block.vertices), subject,
        " with elements ", [&] { return box_text(block.elements); }, " reaches out of topology ",
        quote(topology.name), " with elements ", [&] { return box_text(topology.elements); }, ".");
    fields.clear();
    for (const auto& array : block.arrays) {
        validate_array(step, block, array);
        fields.push_back(array.field);
    }
    std::sort(fields.begin(), fields.end());
    require_valid(std::adjacent_find(fields.begin(), fields.end()) == fields.end(), subject,
                  " has two arrays of one field.");
}

void validate_blocks(const StepInfo& step) {
    std::vector<std::uint64_t> ids;
    std::vector<std::uint32_t> fields;
    ids.reserve(step.blocks.size());
    for (const auto& block : step.blocks) {
        validate_block(step, block, fields);
        ids.push_back(block.id);
    }
    std::sort(ids.begin(), ids.end());
    const auto twice = std::adjacent_find(ids.begin(), ids.end());
    require_valid(
        twice == ids.end(), "The step has two blocks of the id ", [&] { return *twice; }, ".");
}

using Indices = std::vector<std::uint32_t>;

/// Return the index of each item of `items` in `all`; new items are appended.
template <class Named>
Indices merge_named(std::vector<Named>& all, const std::vector<Named>& items,
                    const std::string& what) {
    Indices places;
    for (const auto& item : items) {
        const auto place = find(all, &Named::name, item.name);
        require_valid(!place || all[*place] == item, "Ranks describe the ", what, " ",
                      quote(item.name), " differently.");
        places.push_back(place.value_or(static_cast<std::uint32_t>(all.size())));
        if (!place)
            all.push_back(item);
    }
    return places;
}

void merge_part(StepInfo& whole, const StepInfo& part) {
    for (const auto& attribute : part.attributes)
        if (!find(whole.attributes, &Attribute::name, attribute.name))
            whole.attributes.push_back(attribute);

    const Indices coordsets = merge_named(whole.coordsets, part.coordsets, "coordset");
    auto part_topologies = part.topologies;
    for (auto& topology : part_topologies)
        topology.coordset = coordsets[topology.coordset];
    const Indices topologies = merge_named(whole.topologies, part_topologies, "topology");
    auto part_fields = part.fields;
    for (auto& field : part_fields)
        field.topology = topologies[field.topology];
    const Indices fields = merge_named(whole.fields, part_fields, "field");

    for (Block block : part.blocks) {
        block.topology = topologies[block.topology];
        for (auto& array : block.arrays)
            array.field = fields[array.field];
        whole.blocks.push_back(std::move(block));
    }
}

} // namespace

void validate(const StepInfo& step) {
    require_unique_names(step.attributes, "attributes");
    require_unique_names(step.coordsets, "coordsets");
    require_unique_names(step.topologies, "topologies");
    require_unique_names(step.fields, "fields");
    validate_topologies(step);
    validate_fields(step);
    validate_coordsets(step);
    validate_blocks(step);
}

std::optional<std::uint32_t> find_field(const StepInfo& step, std::string_view name) {
    return find(step.fields, &Field::name, name);
}

std::optional<std::uint32_t> find_topology(const StepInfo& step, std::string_view name) {
    return find(step.topologies, &Topology::name, name);
}

std::optional<std::uint32_t> find_array(const Block& block, std::uint32_t field) {
    return find(block.arrays, &StoredArray::field, field);
}

Box stored_box(const StepInfo& step, const Block& block, const StoredArray& array) {
    return grow(block.owned(step.fields[array.field].association), array.ghosts);
}

std::uint64_t stored_bytes(const StepInfo& step, const Block& block, const StoredArray& array) {
    return span_of(step, block, array).value_or(0);
}

std::uint64_t value_bytes(const StepInfo& step, std::uint32_t rank) {
    std::uint64_t bytes = 0;
    for (const auto& block : step.blocks)
        if (block.rank == rank)
            for (const auto& array : block.arrays) {
                const Field& field = step.fields[array.field];
                bytes += static_cast<std::uint64_t>(stored_box(step, block, array).volume() *
                                                    field.components * size_of(field.type));
            }
    return bytes;
}

ConstArrayView view_of(const StepInfo& step, const Block& block, const StoredArray& array,
                       std::span<const std::byte> segment) {
    const Field& field = step.fields[array.field];
    const std::uint64_t bytes = stored_bytes(step, block, array);
    require_valid(array.offset <= segment.size() && bytes <= segment.size() - array.offset,
                  "Field ", quote(field.name), " of block ", block.id,
                  " does not lie wholly in its rank's ", segment.size(), " bytes of the step.");
    return {segment.data() + array.offset, stored_box(step, block, array).extents(), array.layout,
            field.components, size_of(field.type)};
}

StepInfo merge(std::span<const StepInfo> parts) {
    StepInfo whole;
    if (parts.empty())
        return whole;
    whole.index = parts.front().index;
    whole.time = parts.front().time;
    for (const auto& part : parts) {
        require_valid(part.index == whole.index, "Ranks publish steps ", whole.index, " and ",
                      part.index, " as one: all must publish the same step.");
        validate(part);
        merge_part(whole, part);
    }
    validate(whole);
    return whole;
}

} // namespace uzushio::staging
