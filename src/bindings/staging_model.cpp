#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "bindings/staging.hpp"
#include "staging/datamodel/step_info.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/step_codec.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using staging::StepInfo;

nb::bytes to_bytes(const std::vector<std::byte>& bytes) {
    return nb::bytes(bytes.data(), bytes.size());
}

std::span<const std::byte> span(const nb::bytes& bytes) {
    return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

const char* name_of(staging::Association association) {
    return association == staging::Association::vertex ? "vertex" : "element";
}

nb::object numbers(const std::vector<double>& values) {
    auto* held = new std::vector<double>(values);
    const nb::capsule owner(held,
                            [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, nb::ro, double>(held->data(), {held->size()}, owner));
}

nb::dict coords(const staging::Coordset& coordset) {
    nb::dict result;
    if (const auto* uniform = std::get_if<staging::UniformCoords>(&coordset.coords)) {
        result["origin"] = nb::tuple(nb::cast(uniform->origin));
        result["spacing"] = nb::tuple(nb::cast(uniform->spacing));
    } else if (const auto* lines = std::get_if<staging::RectilinearCoords>(&coordset.coords)) {
        result["coordinates"] = nb::make_tuple(numbers(lines->values[0]), numbers(lines->values[1]),
                                               numbers(lines->values[2]));
    } else {
        result["coordinate_field"] = std::get<staging::ExplicitCoords>(coordset.coords).field;
    }
    return result;
}

/// Keyword arguments of uzushio.staging.Mesh.
nb::list meshes(const StepInfo& step) {
    nb::list result;
    for (const auto& topology : step.topologies) {
        nb::dict mesh = coords(step.coordsets[topology.coordset]);
        mesh["name"] = topology.name;
        mesh["dimension"] = topology.dimension;
        mesh["elements"] = topology.elements;
        result.append(mesh);
    }
    return result;
}

/// (name, mesh, association, dtype, components, attributes).
nb::list fields(const StepInfo& step) {
    nb::list result;
    for (const auto& field : step.fields)
        result.append(nb::make_tuple(field.name, field.topology, name_of(field.association),
                                     name_of(field.type), field.components,
                                     to_dict(field.attributes)));
    return result;
}

/// (id, rank, mesh, elements, vertices, [(field, lower ghosts, upper ghosts, checksum or None)]).
nb::list blocks(const StepInfo& step) {
    nb::list result;
    for (const auto& block : step.blocks) {
        nb::list arrays;
        for (const auto& array : block.arrays)
            arrays.append(nb::make_tuple(array.field, array.ghosts.lower, array.ghosts.upper,
                                         array.checksum ? nb::cast(*array.checksum) : nb::none()));
        result.append(nb::make_tuple(block.id, block.rank, block.topology, block.elements,
                                     block.vertices, arrays));
    }
    return result;
}

staging::Coordset coordset_of(const std::string& name, const nb::object& given) {
    if (nb::isinstance<nb::str>(given))
        return {name, staging::ExplicitCoords{nb::cast<std::string>(given)}};
    const auto lines = nb::cast<std::vector<std::vector<double>>>(given);
    if (lines.size() == 3)
        return {name, staging::RectilinearCoords{{}, {lines[0], lines[1], lines[2]}}};
    staging::UniformCoords uniform;
    std::ranges::copy(lines.at(0), uniform.origin.begin());
    std::ranges::copy(lines.at(1), uniform.spacing.begin());
    return {name, uniform};
}

/// Meshes as (name, elements, dimension, coordinates): coordinates z, y, x, or origin and spacing,
/// or the name of a field. Fields as in `fields`.
StepInfo whole_arrays(std::int64_t index, double time, const nb::list& meshes,
                      const nb::list& fields) {
    using Given =
        std::tuple<std::string, std::uint32_t, std::string, std::string, std::uint32_t, nb::dict>;
    StepInfo step;
    step.index = index;
    step.time = time;
    for (const auto& given : meshes) {
        const auto& [name, elements, dimension, coordinates] =
            nb::cast<std::tuple<std::string, staging::Box, std::uint8_t, nb::object>>(given);
        const auto number = static_cast<std::uint32_t>(step.topologies.size());
        step.coordsets.push_back(coordset_of(name, coordinates));
        step.topologies.push_back({name, number, dimension, elements});
        auto block = staging::Block::with_elements(elements, dimension);
        block.id = block.topology = number;
        step.blocks.push_back(block);
    }
    for (const auto& given : fields) {
        const auto& [name, mesh, where, type, components, attributes] = nb::cast<Given>(given);
        const auto number = static_cast<std::uint32_t>(step.fields.size());
        step.fields.push_back({name, mesh, association(where), scalar_type(type), components,
                               to_attributes(attributes)});
        auto& block = step.blocks.at(mesh);
        const auto& field = step.fields.back();
        const auto count = block.owned(field.association).extents();
        block.arrays.push_back(
            {number,
             {},
             0,
             staging::interleaved(count, components, staging::size_of(field.type)),
             {}});
    }
    staging::validate(step);
    return step;
}

} // namespace

void bind_staging_model(nb::module_& module) {
    nb::class_<StepInfo>(module, "StepInfo", "All that is known of a step but its values.")
        .def_ro("index", &StepInfo::index)
        .def_ro("time", &StepInfo::time)
        .def_prop_ro("attributes", [](const StepInfo& step) { return to_dict(step.attributes); })
        .def_prop_ro("meshes", &meshes)
        .def_prop_ro("fields", &fields)
        .def_prop_ro("blocks", &blocks)
        .def("encode", [](const StepInfo& step) { return to_bytes(encode_step(step)); });

    module.def(
        "decode_step", [](const nb::bytes& bytes) { return staging::decode_step(span(bytes)); },
        "bytes"_a);
    module.def(
        "merge", [](const std::vector<StepInfo>& parts) { return staging::merge(parts); },
        "parts"_a, "The parts of a step that each rank described, as one.");
    module.def("whole_arrays", &whole_arrays, "index"_a, "time"_a, "meshes"_a, "fields"_a,
               "Return the table of a step with one block on each mesh, of rank 0.");
    module.def(
        "without_ghosts",
        [](StepInfo step) {
            for (auto& block : step.blocks)
                for (auto& array : block.arrays)
                    array.ghosts = {};
            return step;
        },
        "step"_a, "Return the table of a step whose arrays have no ghost layers.");
    module.def(
        "announce",
        [](std::uint64_t sequence, const StepInfo& step) {
            return to_bytes(staging::encode(staging::Announce{sequence, {}, step}));
        },
        "sequence"_a, "step"_a, "Encode the message with which a source announces a step.");
}

} // namespace uzushio::bindings
