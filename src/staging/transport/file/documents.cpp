#include "staging/transport/file/documents.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "staging/datamodel/model_error.hpp"
#include "staging/require.hpp"

namespace uzushio::staging::file {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_key = "uzushio_store";
constexpr int format = 1; ///< raised whenever the form of a store changes

std::string dump(const Json& json) {
    // Texts may be any bytes; the table has the exact bytes where they are not UTF-8.
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json to_json(double value) {
    if (std::isfinite(value))
        return value;
    // JSON has no such numbers; Zarr writes them as texts.
    return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

template <class Values> Json list_of(const Values& values) {
    Json list = Json::array();
    for (const auto& value : values)
        list.push_back(value);
    return list;
}

Json reals(const auto& values) {
    Json list = Json::array();
    for (const double value : values)
        list.push_back(to_json(value));
    return list;
}

Json to_json(const std::vector<Attribute>& attributes) {
    Json object = Json::object();
    for (const auto& attribute : attributes)
        object[attribute.name] = std::visit(
            [](const auto& value) {
                if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
                    return to_json(value);
                else
                    return Json(value);
            },
            attribute.value);
    return object;
}

Json to_json(const Box& box) {
    return {{"start", list_of(box.lower)}, {"count", list_of(box.extents())}};
}

Json to_json(const Coordset& coordset) {
    Json json = Json::object();
    if (const auto* uniform = std::get_if<UniformCoords>(&coordset.coords))
        json = {{"type", "uniform"},
                {"origin", reals(uniform->origin)},
                {"spacing", reals(uniform->spacing)}};
    else if (const auto* rectilinear = std::get_if<RectilinearCoords>(&coordset.coords))
        json = {{"type", "rectilinear"},
                {"start", list_of(rectilinear->start)},
                {"z", reals(rectilinear->values[0])},
                {"y", reals(rectilinear->values[1])},
                {"x", reals(rectilinear->values[2])}};
    else
        json = {{"type", "explicit"}, {"field", std::get<ExplicitCoords>(coordset.coords).field}};
    return json;
}

const char* name_of(Association association) {
    return association == Association::vertex ? "vertex" : "element";
}

Json group(Json attributes) {
    return {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", std::move(attributes)}};
}

Json array(std::string_view type, const std::vector<std::int64_t>& shape,
           const std::vector<std::int64_t>& chunk) {
    Json bytes = {{"name", "bytes"}};
    if (type != staging::name_of(ScalarType::uint8))
        bytes["configuration"] = {{"endian", "little"}};
    return {
        {"zarr_format", 3},
        {"node_type", "array"},
        {"shape", list_of(shape)},
        {"data_type", type},
        {"chunk_grid", {{"name", "regular"}, {"configuration", {{"chunk_shape", list_of(chunk)}}}}},
        {"chunk_key_encoding", {{"name", "default"}, {"configuration", {{"separator", "."}}}}},
        {"fill_value", 0},
        {"codecs", Json::array({std::move(bytes), {{"name", "crc32c"}}})}};
}

/// Return the result of `read` for the document; errors contain the file's name.
template <class Read>
auto parse(const std::string& text, const std::filesystem::path& file, const char* what,
           Read read) {
    try {
        return read(Json::parse(text));
    } catch (const ModelError& error) {
        throw StagingError(sentence("The file ", file, " cannot be used: ", error.what()));
    } catch (const Json::exception&) {
        throw StagingError(sentence("The file ", file, " does not describe ", what,
                                    ": it is truncated or damaged, or another program wrote it."));
    }
}

} // namespace

std::string store_document(const StoreState& state) {
    Json attributes = {
        {format_key, format}, {"id", state.id}, {"stream", state.stream}, {"closed", state.closed}};
    if (state.closed)
        attributes["steps"] = state.steps;
    return dump(group(std::move(attributes)));
}

StoreState parse_store(const std::string& text, const std::filesystem::path& file) {
    return parse(text, file, "stored steps", [&](const Json& json) {
        const Json& attributes = json.at("attributes");
        if (const int stored_format = attributes.at(format_key).get<int>(); stored_format != format)
            throw StagingError(sentence("The steps that ", file, " describes are stored in form ",
                                        stored_format, "; this program reads form ", format, "."));
        StoreState state{attributes.at("id").get<std::string>(),
                         attributes.at("stream").get<std::string>(),
                         attributes.at("closed").get<bool>(), 0};
        if (state.closed)
            state.steps = attributes.at("steps").get<std::uint64_t>();
        return state;
    });
}

std::string group_document() { return dump(group(Json::object())); }

std::string step_document(const StepInfo& step, std::uint64_t sequence) {
    Json topologies = Json::object();
    for (const auto& topology : step.topologies) {
        Json json = {{"dimension", topology.dimension}, {"elements", to_json(topology.elements)}};
        json["coordset"] = to_json(step.coordsets[topology.coordset]);
        topologies[topology.name] = std::move(json);
    }
    return dump(group({{"index", step.index},
                       {"time", to_json(step.time)},
                       {"sequence", sequence},
                       {"attributes", to_json(step.attributes)},
                       {"axes", {"z", "y", "x"}},
                       {"topologies", std::move(topologies)},
                       {"blocks", step.blocks.size()}}));
}

StoredStep parse_step(const std::string& text, const std::filesystem::path& file) {
    return parse(text, file, "a stored step", [](const Json& json) {
        const Json& attributes = json.at("attributes");
        const Json& time = attributes.at("time"); // a text if it is not finite
        return StoredStep{attributes.at("sequence").get<std::uint64_t>(),
                          attributes.at("index").get<std::int64_t>(),
                          time.is_number() ? time.get<double>()
                                           : std::stod(time.get<std::string>())};
    });
}

std::string field_document(const StepInfo& step, const Field& field) {
    Json attributes = to_json(field.attributes);
    attributes["field"] = field.name;
    attributes["topology"] = step.topologies[field.topology].name;
    attributes["association"] = name_of(field.association);
    attributes["components"] = field.components;
    return dump(group(std::move(attributes)));
}

std::string array_document(const StepInfo& step, const Block& block, const StoredArray& stored,
                           const ArrayForm& form, const ChunkGrid& grid) {
    const Field& field = step.fields[stored.field];
    Json json = array(staging::name_of(field.type), grid.shape(), grid.chunk());
    json["dimension_names"] = list_of(form.axes());
    Json attributes = to_json(field.attributes);
    attributes["field"] = field.name;
    attributes["block"] = block.id;
    attributes["rank"] = block.rank;
    attributes["topology"] = step.topologies[block.topology].name;
    attributes["association"] = name_of(field.association);
    attributes["start"] = list_of(stored_box(step, block, stored).lower);
    attributes["ghosts_lower"] = list_of(stored.ghosts.lower);
    attributes["ghosts_upper"] = list_of(stored.ghosts.upper);
    attributes["index"] = step.index;
    attributes["time"] = to_json(step.time);
    json["attributes"] = std::move(attributes);
    return dump(json);
}

std::string table_document(std::int64_t bytes) {
    Json json = array(staging::name_of(ScalarType::uint8), {bytes}, {bytes});
    json["dimension_names"] = Json::array({"byte"});
    return dump(json);
}

ChunkGrid parse_array(const std::string& text, const ArrayForm& form, ScalarType type,
                      const std::filesystem::path& file) {
    return parse(text, file, "an array", [&](const Json& json) {
        const bool ours =
            json.at("data_type").get<std::string>() == staging::name_of(type) &&
            json.at("shape").get<std::vector<std::int64_t>>() == form.shape() &&
            json.at("chunk_key_encoding").at("configuration").at("separator") == "." &&
            json.at("codecs").size() == 2 && json.at("codecs").at(0).at("name") == "bytes" &&
            json.at("codecs").at(1).at("name") == "crc32c";
        require(ours, "The array that ", file,
                " describes is not the one of "
                "the step's table: it was changed after it was written.");
        return ChunkGrid(form.shape(),
                         json.at("chunk_grid")
                             .at("configuration")
                             .at("chunk_shape")
                             .get<std::vector<std::int64_t>>(),
                         form.scalar_bytes);
    });
}

std::int64_t parse_table(const std::string& text, const std::filesystem::path& file) {
    return parse(text, file, "a table",
                 [](const Json& json) { return json.at("shape").at(0).get<std::int64_t>(); });
}

} // namespace uzushio::staging::file
