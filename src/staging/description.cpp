#include "staging/description.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "staging/described_text.hpp"
#include "staging/require.hpp"
#include "staging/wire/step_codec.hpp"

namespace uzushio::staging {
namespace {

const char* name_of(Association association) {
    return association == Association::vertex ? "vertices" : "elements";
}

/// Replace the item of the same name, or append. Returns the index.
template <class Named> std::uint32_t set(std::vector<Named>& list, Named item) {
    const auto place = std::find_if(list.begin(), list.end(),
                                    [&](const Named& other) { return other.name == item.name; });
    const auto index = static_cast<std::uint32_t>(place - list.begin());
    if (place == list.end())
        list.push_back(std::move(item));
    else
        *place = std::move(item);
    return index;
}

template <class Named> std::string names_of(const std::vector<Named>& list) {
    if (list.empty())
        return "none is described yet";
    std::string text = "described are ";
    for (std::size_t i = 0; i < list.size(); ++i)
        text += sentence(i ? ", " : "", quote(list[i].name));
    return text;
}

constexpr std::array axes{"z", "y", "x"};

void require_attribute(const std::string& owner, const Attribute& attribute) {
    require_text("The name of an attribute" + owner, attribute.name);
    if (const auto* text = std::get_if<std::string>(&attribute.value))
        require_text(sentence("The attribute ", quote(attribute.name), owner), *text);
}

void require_finite(const std::string& subject, const char* what, std::size_t axis, double value) {
    require(std::isfinite(value), subject, " has ", what, " along ", axes[axis],
            " that is not finite (", std::to_string(value), ").");
}

void require_coordinates(const std::string& subject, const UniformCoords& coords) {
    for (std::size_t a = 0; a < 3; ++a) {
        require_finite(subject, "an origin", a, coords.origin[a]);
        require_finite(subject, "a spacing", a, coords.spacing[a]);
    }
}

void require_coordinates(const std::string& subject, const RectilinearCoords& coords,
                         const Box& vertices) {
    for (std::size_t a = 0; a < 3; ++a) {
        const auto given = static_cast<std::int64_t>(coords.values[a].size());
        require(given == vertices.extent(a), subject, " has ", vertices.extent(a),
                " vertices along ", axes[a], ", but ", given, " coordinates were given.");
        for (const double value : coords.values[a])
            require_finite(subject, "a coordinate", a, value);
    }
}

} // namespace

void Description::attribute(std::string name,
                            std::variant<std::int64_t, double, std::string> value) {
    Attribute attribute{std::move(name), std::move(value)};
    require_attribute(" of the stream", attribute);
    set(described_.attributes, std::move(attribute));
}

void Description::mesh(std::string name, const Box& elements, std::uint8_t dimension,
                       std::variant<UniformCoords, RectilinearCoords, ExplicitCoords> coords) {
    require_text("The name of a mesh", name);
    const std::string subject = sentence("Mesh ", quote(name));
    require(!name.empty(), "A mesh needs a name.");
    require(dimension >= 1 && dimension <= 3, subject, " must have 1, 2 or 3 dimensions.");
    require(is_valid(elements), subject, " has an impossible box of elements.");
    for (std::size_t axis = 0; axis + dimension < 3; ++axis)
        require(elements.extent(axis) == 1, subject, " has ", dimension,
                " dimensions: along the others, counted from z, it must have one element.");
    if (const auto* lines = std::get_if<RectilinearCoords>(&coords))
        require_coordinates(subject, *lines, vertices_of(elements, dimension));
    else if (const auto* uniform = std::get_if<UniformCoords>(&coords))
        require_coordinates(subject, *uniform);

    Coordset coordset{name, std::move(coords)};
    const auto known = find_topology(described_, name);
    if (known) {
        Topology same = described_.topologies[*known];
        same.dimension = dimension;
        same.elements = elements;
        const bool changes = same != described_.topologies[*known] ||
                             coordset != described_.coordsets[same.coordset];
        require_unused(changes && uses_mesh(*known), subject);
    }
    const std::uint32_t place = set(described_.coordsets, std::move(coordset));
    set(described_.topologies, Topology{std::move(name), place, dimension, elements});
}

void Description::field(std::string name, std::string_view mesh, Association association,
                        ScalarType type, std::uint32_t components,
                        std::vector<Attribute> attributes) {
    require_text("The name of a field", name);
    const std::string subject = sentence("Field ", quote(name));
    require(!name.empty(), "A field needs a name.");
    for (const Attribute& attribute : attributes)
        require_attribute(sentence(" of field ", quote(name)), attribute);
    require(components >= 1 && components <= 65536, subject, " must have 1 to 65536 components.");
    Field field{std::move(name), mesh_of(mesh),        association, type,
                components,      std::move(attributes)};
    const auto known = find_field(described_, field.name);
    require_unused(known && described_.fields[*known] != field && uses_field(*known), subject);
    set(described_.fields, std::move(field));
}

void Description::block(std::uint64_t id, std::string_view mesh, const Box& owned,
                        Association association) {
    const std::string subject = "Block " + std::to_string(id);
    const std::uint32_t place = mesh_of(mesh);
    const Topology& topology = described_.topologies[place];
    const bool of_elements = association == Association::element;
    const Box all =
        of_elements ? topology.elements : vertices_of(topology.elements, topology.dimension);
    require(is_valid(owned), subject, " has an impossible box.");
    require(all.contains(owned), subject, " with ", name_of(association), " ",
            box_text(owned, topology.dimension), " reaches out of mesh ", quote(mesh),
            ", which has ", name_of(association), " ", box_text(all, topology.dimension), ".");
    Block block = of_elements ? Block::with_elements(owned, topology.dimension)
                              : Block::with_vertices(owned, topology.dimension);
    block.id = id;
    block.rank = rank_;
    block.topology = place;
    DescribedBlock& held = blocks_[id];
    require_unused(held.block != block && !held.values.empty(), subject);
    held.block = std::move(block);
}

void Description::remove_block(std::uint64_t id) {
    require_unused(!block_of(id).values.empty(), "Block " + std::to_string(id));
    blocks_.erase(id);
}

ConstArrayView Description::shape(std::string_view name, std::uint64_t id,
                                  const Ghosts& ghosts) const {
    const Field& field = described_.fields[field_of(name)];
    const Block& block = block_of(id).block;
    require(field.topology == block.topology, "Field ", quote(name), " is on mesh ",
            quote(described_.topologies[field.topology].name), ", but block ", id, " is of mesh ",
            quote(described_.topologies[block.topology].name), ".");
    const Extent count = grow(block.owned(field.association), ghosts).extents();
    return packed_view<const std::byte>(nullptr, count, field.components, size_of(field.type));
}

void Description::require_no_values(std::string_view name, std::uint64_t id) const {
    require(!block_of(id).values.contains(field_of(name)), "Field ", quote(name), " of block ", id,
            " has its values of this step already: put them once.");
}

void Description::put(std::string_view name, std::uint64_t id, const ConstArrayView& values,
                      const Ghosts& ghosts) {
    const ConstArrayView expected = shape(name, id, ghosts);
    const Field& field = described_.fields[field_of(name)];
    const int dimension = described_.topologies[field.topology].dimension;
    const auto values_of = [&] {
        return sentence("The values of field ", quote(name), " of block ", id);
    };
    require(
        values.count == expected.count, values_of, " are ",
        [&] { return counts_text(values.count, dimension); }, ", but its ",
        name_of(field.association), " with these ghost layers are ",
        [&] { return counts_text(expected.count, dimension); }, ".");
    require(values.components == expected.components, values_of, " have ", values.components,
            " components, but the field has ", expected.components, ".");
    require(values.scalar_bytes == expected.scalar_bytes, values_of, " take ", values.scalar_bytes,
            " bytes each, but the field is of ", name_of(field.type), ".");
    require(values.data != nullptr || Box::of(values.count).empty(), values_of,
            " are a null pointer.");
    require_no_values(name, id);
    blocks_.at(id).values.emplace(field_of(name), FieldValues{values, ghosts});
    ++arrays_;
}

LocalStep Description::step(std::int64_t index, double time) const {
    LocalStep step;
    step.part = described_;
    step.part.index = index;
    step.part.time = time;
    for (const auto& [id, held] : blocks_) {
        if (held.values.empty())
            continue;
        Block& block = step.part.blocks.emplace_back(held.block);
        for (const auto& [field, put] : held.values) {
            block.arrays.push_back({field, put.ghosts, 0, put.values.layout, std::nullopt});
            step.values.push_back(put.values);
        }
    }
    validate(step.part);
    return step;
}

void Description::clear() {
    for (auto& [id, held] : blocks_)
        held.values.clear();
    arrays_ = 0;
}

std::size_t Description::min_table_bytes() const {
    return blocks_.size() * min_block_bytes + std::max(blocks_.size(), arrays_) * min_array_bytes;
}

std::uint32_t Description::mesh_of(std::string_view name) const {
    const auto place = find_topology(described_, name);
    require(
        place.has_value(), "There is no mesh ", quote(name), ": ",
        [&] { return names_of(described_.topologies); }, ".");
    return *place;
}

std::uint32_t Description::field_of(std::string_view name) const {
    const auto place = find_field(described_, name);
    require(
        place.has_value(), "There is no field ", quote(name), ": ",
        [&] { return names_of(described_.fields); }, ".");
    return *place;
}

const Description::DescribedBlock& Description::block_of(std::uint64_t id) const {
    const auto place = blocks_.find(id);
    require(place != blocks_.end(), "This rank has no block ", id,
            ": describe it before its values are put.");
    return place->second;
}

void Description::require_unused(bool used, const std::string& what) const {
    require(!used, what, " has values in the step that is open: change it after end_step.");
}

bool Description::uses_mesh(std::uint32_t mesh) const {
    return std::any_of(blocks_.begin(), blocks_.end(), [&](const auto& item) {
        return item.second.block.topology == mesh && !item.second.values.empty();
    });
}

bool Description::uses_field(std::uint32_t field) const {
    return std::any_of(blocks_.begin(), blocks_.end(),
                       [&](const auto& item) { return item.second.values.contains(field); });
}

} // namespace uzushio::staging
