#include "staging/wire/step_codec.hpp"

#include "staging/datamodel/model_error.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/parts.hpp"

namespace uzushio::staging {
namespace {

// `pass` defines an object in both directions: Wire is Encoder (of a const object) or Decoder. The
// numbers after lists are the minimum bytes of an item.

/// A variant is encoded as the number of its alternative, from 1, and the alternative.
template <class Wire, class Variant, class Each>
void pass_variant(Wire& wire, Variant& value, const char* what, Each each) {
    enum class Code : std::uint8_t {};
    auto code = static_cast<Code>(value.index() + 1);
    wire.choice(code, Code{1}, Code{std::variant_size_v<std::remove_const_t<Variant>>}, what);
    if constexpr (Wire::decodes) {
        switch (static_cast<int>(code)) {
        case 1:
            value.template emplace<0>();
            break;
        case 2:
            value.template emplace<1>();
            break;
        default:
            value.template emplace<2>();
        }
    }
    std::visit(each, value);
}

template <class Wire> struct PassValue {
    Wire& wire;
    void operator()(auto& value) const {
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::same_as<T, std::string>)
            wire.text(value, "text");
        else if constexpr (std::same_as<T, double>)
            wire.real(value);
        else
            wire.number(value);
    }
};

template <class Wire> void pass_attributes(Wire& wire, auto& attributes) {
    wire.list(attributes, 9, "attributes", [&](auto& attribute) {
        wire.text(attribute.name, "name");
        pass_variant(wire, attribute.value, "kind of attribute", PassValue<Wire>{wire});
    });
}

template <class Wire> struct PassCoords {
    Wire& wire;
    void operator()(auto& coords) const {
        using T = std::remove_cvref_t<decltype(coords)>;
        if constexpr (std::same_as<T, UniformCoords>) {
            for (auto& value : coords.origin)
                wire.real(value);
            for (auto& value : coords.spacing)
                wire.real(value);
        } else if constexpr (std::same_as<T, RectilinearCoords>) {
            wire.extent(coords.start);
            for (auto& values : coords.values)
                wire.list(values, 8, "coordinates", [&](auto& value) { wire.real(value); });
        } else {
            wire.text(coords.field, "name");
        }
    }
};

template <class Wire> void pass_array(Wire& wire, auto& array) {
    wire.number(array.field);
    for (auto& width : array.ghosts.lower)
        wire.number(width);
    for (auto& width : array.ghosts.upper)
        wire.number(width);
    wire.number(array.offset);
    wire.extent(array.layout.strides);
    wire.number(array.layout.component_stride);
    wire.optional_number(array.checksum, "kind of checksum");
}

template <class Wire> void pass_block(Wire& wire, auto& block) {
    wire.number(block.id);
    wire.number(block.rank);
    wire.number(block.topology);
    wire.box(block.elements);
    wire.box(block.vertices);
    wire.list(block.arrays, min_array_bytes, "arrays",
              [&](auto& array) { pass_array(wire, array); });
}

template <class Wire> void pass_step(Wire& wire, auto& step) {
    wire.number(step.index);
    wire.real(step.time);
    pass_attributes(wire, step.attributes);
    wire.list(step.coordsets, 9, "coordsets", [&](auto& coordset) {
        wire.text(coordset.name, "name");
        pass_variant(wire, coordset.coords, "kind of coordset", PassCoords<Wire>{wire});
    });
    wire.list(step.topologies, 57, "topologies", [&](auto& topology) {
        wire.text(topology.name, "name");
        wire.number(topology.coordset);
        wire.number(topology.dimension);
        wire.box(topology.elements);
    });
    wire.list(step.fields, 18, "fields", [&](auto& field) {
        wire.text(field.name, "name");
        wire.number(field.topology);
        wire.choice(field.association, Association::vertex, Association::element, "association");
        wire.choice(field.type, ScalarType::float32, ScalarType::uint8, "type of values");
        wire.number(field.components);
        pass_attributes(wire, field.attributes);
    });
    wire.list(step.blocks, min_block_bytes, "blocks",
              [&](auto& block) { pass_block(wire, block); });
}

} // namespace

void parts(Encoder& to, const StepInfo& step) { pass_step(to, step); }

void parts(Decoder& from, StepInfo& step) {
    pass_step(from, step);
    try {
        validate(step);
    } catch (const ModelError& error) {
        throw DecodeError(error.what());
    }
}

std::vector<std::byte> encode_step(const StepInfo& step) { return encode_parts(step); }

StepInfo decode_step(std::span<const std::byte> bytes, const DecodeLimits& limits) {
    return decode_parts<StepInfo>(bytes, limits);
}

} // namespace uzushio::staging
