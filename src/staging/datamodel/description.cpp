#include "staging/datamodel/description.hpp"

#include <algorithm>
#include <utility>

#include "staging/in_quotes.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging {
namespace {

constexpr Require<StagingError> require;

const char* name_of(Association association) {
    return association == Association::vertex ? "vertices" : "elements";
}

/// Put `item` in the place of the one of its name, or at the end. Returns where.
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
        text += (i ? ", " : "") + in_quotes(list[i].name);
    return text;
}

void require_coordinates(const std::string& who, const RectilinearCoords& coords,
                         const Box& vertices) {
    constexpr std::array axes{"z", "y", "x"};
    for (std::size_t a = 0; a < 3; ++a) {
        const auto given = static_cast<std::int64_t>(coords.values[a].size());
        require(given == vertices.count[a], who + " has " + std::to_string(vertices.count[a]) +
                                                " vertices along " + axes[a] + ", but " +
                                                std::to_string(given) + " coordinates were given.");
    }
}

} // namespace

void Description::attribute(std::string name,
                            std::variant<std::int64_t, double, std::string> value) {
    set(known_.attributes, Attribute{std::move(name), std::move(value)});
}

void Description::mesh(std::string name, const Box& elements, std::uint8_t dimension,
                       std::variant<UniformCoords, RectilinearCoords, ExplicitCoords> coords) {
    const std::string who = "Mesh " + in_quotes(name);
    require(!name.empty(), "A mesh needs a name.");
    require(dimension >= 1 && dimension <= 3, who + " must have 1, 2 or 3 dimensions.");
    require(is_valid(elements), who + " has an impossible box of elements.");
    for (std::size_t axis = 0; axis + dimension < 3; ++axis)
        require(elements.count[axis] == 1,
                who + " has " + std::to_string(dimension) +
                    " dimensions: along the others, counted from z, it must have one element.");
    if (const auto* lines = std::get_if<RectilinearCoords>(&coords))
        require_coordinates(who, *lines, vertices_of(elements, dimension));

    Coordset coordset{name, std::move(coords)};
    const auto known = find_topology(known_, name);
    if (known) {
        Topology same = known_.topologies[*known];
        same.dimension = dimension;
        same.elements = elements;
        const bool changes =
            same != known_.topologies[*known] || coordset != known_.coordsets[same.coordset];
        require_unused(changes && uses_mesh(*known), who);
    }
    const std::uint32_t place = set(known_.coordsets, std::move(coordset));
    set(known_.topologies, Topology{std::move(name), place, dimension, elements});
}

void Description::field(std::string name, std::string_view mesh, Association association,
                        ScalarType type, std::uint32_t components,
                        std::vector<Attribute> attributes) {
    const std::string who = "Field " + in_quotes(name);
    require(!name.empty(), "A field needs a name.");
    require(components >= 1 && components <= 65536, who + " must have 1 to 65536 components.");
    Field field{std::move(name), mesh_of(mesh),        association, type,
                components,      std::move(attributes)};
    const auto known = find_field(known_, field.name);
    require_unused(known && known_.fields[*known] != field && uses_field(*known), who);
    set(known_.fields, std::move(field));
}

void Description::block(std::uint64_t id, std::string_view mesh, const Box& owned,
                        Association association) {
    const std::string who = "Block " + std::to_string(id);
    const std::uint32_t place = mesh_of(mesh);
    const Topology& topology = known_.topologies[place];
    const bool of_elements = association == Association::element;
    const Box all =
        of_elements ? topology.elements : vertices_of(topology.elements, topology.dimension);
    require(is_valid(owned), who + " has an impossible box.");
    require(all.contains(owned),
            who + " with " + name_of(association) + " " + to_string(owned, topology.dimension) +
                " reaches out of mesh " + in_quotes(mesh) + ", which has " + name_of(association) +
                " " + to_string(all, topology.dimension) + ".");
    Block block = of_elements ? Block::with_elements(owned, topology.dimension)
                              : Block::with_vertices(owned, topology.dimension);
    block.id = id;
    block.rank = rank_;
    block.topology = place;
    Held& held = blocks_[id];
    require_unused(held.block != block && !held.puts.empty(), who);
    held.block = std::move(block);
}

void Description::remove_block(std::uint64_t id) {
    require_unused(!block_of(id).puts.empty(), "Block " + std::to_string(id));
    blocks_.erase(id);
}

ConstArrayView Description::shape(std::string_view name, std::uint64_t id,
                                  const Ghosts& ghosts) const {
    const Field& field = known_.fields[field_of(name)];
    const Block& block = block_of(id).block;
    require(field.topology == block.topology, [&] {
        return "Field " + in_quotes(name) + " is on mesh " +
               in_quotes(known_.topologies[field.topology].name) + ", but block " +
               std::to_string(id) + " is of mesh " +
               in_quotes(known_.topologies[block.topology].name) + ".";
    });
    const Extent count = grow(block.owned(field.association), ghosts).count;
    return packed_view<const std::byte>(nullptr, count, field.components, size_of(field.type));
}

void Description::require_free(std::string_view name, std::uint64_t id) const {
    require(!block_of(id).puts.contains(field_of(name)), [&] {
        return "Field " + in_quotes(name) + " of block " + std::to_string(id) +
               " has its values of this step already: put them once.";
    });
}

void Description::put(std::string_view name, std::uint64_t id, const ConstArrayView& values,
                      const Ghosts& ghosts) {
    const ConstArrayView expected = shape(name, id, ghosts);
    const Field& field = known_.fields[field_of(name)];
    const int dimension = known_.topologies[field.topology].dimension;
    const auto values_of = [&] {
        return "The values of field " + in_quotes(name) + " of block " + std::to_string(id);
    };
    require(values.count == expected.count, [&] {
        return values_of() + " are " + counts_text(values.count, dimension) + ", but its " +
               name_of(field.association) + " with these ghost layers are " +
               counts_text(expected.count, dimension) + ".";
    });
    require(values.components == expected.components, [&] {
        return values_of() + " have " + std::to_string(values.components) +
               " components, but the field has " + std::to_string(expected.components) + ".";
    });
    require(values.scalar_bytes == expected.scalar_bytes, [&] {
        return values_of() + " take " + std::to_string(values.scalar_bytes) +
               " bytes each, but the field is of " + std::string(name_of(field.type)) + ".";
    });
    require(values.data != nullptr || Box{{}, values.count}.empty(),
            [&] { return values_of() + " are a null pointer."; });
    require_free(name, id);
    blocks_.at(id).puts.emplace(field_of(name), Put{values, ghosts});
}

LocalStep Description::step(std::int64_t index, double time) const {
    LocalStep step;
    step.part = known_;
    step.part.index = index;
    step.part.time = time;
    for (const auto& [id, held] : blocks_) {
        if (held.puts.empty())
            continue;
        Block& block = step.part.blocks.emplace_back(held.block);
        for (const auto& [field, put] : held.puts) {
            block.arrays.push_back({field, put.ghosts, 0, put.values.layout, std::nullopt});
            step.values.push_back(put.values);
        }
    }
    validate(step.part);
    return step;
}

void Description::clear() {
    for (auto& [id, held] : blocks_)
        held.puts.clear();
}

std::uint32_t Description::mesh_of(std::string_view name) const {
    const auto place = find_topology(known_, name);
    require(place.has_value(), [&] {
        return "There is no mesh " + in_quotes(name) + ": " + names_of(known_.topologies) + ".";
    });
    return *place;
}

std::uint32_t Description::field_of(std::string_view name) const {
    const auto place = find_field(known_, name);
    require(place.has_value(), [&] {
        return "There is no field " + in_quotes(name) + ": " + names_of(known_.fields) + ".";
    });
    return *place;
}

const Description::Held& Description::block_of(std::uint64_t id) const {
    const auto place = blocks_.find(id);
    require(place != blocks_.end(), [&] {
        return "This rank has no block " + std::to_string(id) +
               ": describe it before its values are put.";
    });
    return place->second;
}

void Description::require_unused(bool used, const std::string& what) const {
    require(!used, what + " has values in the step that is open: change it after end_step.");
}

bool Description::uses_mesh(std::uint32_t mesh) const {
    return std::any_of(blocks_.begin(), blocks_.end(), [&](const auto& item) {
        return item.second.block.topology == mesh && !item.second.puts.empty();
    });
}

bool Description::uses_field(std::uint32_t field) const {
    return std::any_of(blocks_.begin(), blocks_.end(),
                       [&](const auto& item) { return item.second.puts.contains(field); });
}

} // namespace uzushio::staging
