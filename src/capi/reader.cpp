#include "staging/reader.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "capi/arguments.hpp"
#include "capi/status.hpp"
#include "staging/datamodel/step_info.hpp"
#include "uzushio/uzushio.h"

using namespace uzushio;
using namespace uzushio::capi;

struct uz_reader {
    staging::Reader reader;
    bool root = true;                   ///< rank 0
    bool fortran = false;               ///< messages are for Fortran
    std::deque<staging::Reply> replies; ///< not yet taken
    std::string reply;                  ///< taken last
};

namespace {

/// Run `work` with the reader of a handle.
template <class Reader, class Work> uz_status with(Reader* reader, Work&& work) noexcept {
    return guarded([&] {
        Reader& r = require_open(reader);
        std::optional<staging::FortranMessageScope> messages;
        if (r.fortran)
            messages.emplace();
        work(r);
    });
}

std::chrono::nanoseconds time_of(double seconds, const char* name) {
    if (!(seconds >= 0))
        refuse(std::string("'") + name + "' is not a time: give seconds from 0.");
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(std::min(seconds, 1e8)));
}

uz_status attached(const char* contact, MPI_Comm comm, double limit, uz_reader** reader,
                   bool fortran) {
    if (reader != nullptr)
        *reader = nullptr;
    return guarded([&] {
        if (comm != MPI_COMM_NULL)
            require_mpi("uz_attach");
        given(reader, "reader");
        staging::ReaderOptions options;
        options.attach_limit = time_of(limit, "limit");
        int rank = 0;
        if (comm != MPI_COMM_NULL)
            MPI_Comm_rank(comm, &rank);
        *reader = new uz_reader{staging::Reader(text_of(contact, "contact"), comm, options),
                                rank == 0,
                                fortran,
                                {},
                                {}};
    });
}

uz_box to_box(const staging::Box& box) {
    uz_box out{};
    for (std::size_t a = 0; a < 3; ++a) {
        out.start[a] = box.lower[a];
        out.count[a] = box.extent(a);
    }
    return out;
}

const staging::Field& field_of(const staging::StepInfo& step, const std::string& name) {
    const auto place = staging::find_field(step, name);
    if (!place)
        throw staging::StagingError("The step has no field \"" + name + "\".");
    return step.fields[*place];
}

const staging::Topology& mesh_of(const staging::StepInfo& step, const std::string& name) {
    const auto place = staging::find_topology(step, name);
    if (!place)
        throw staging::StagingError("The step has no mesh \"" + name + "\".");
    return step.topologies[*place];
}

const staging::Attribute* find(const std::vector<staging::Attribute>& attributes,
                               const std::string& name) {
    const auto place = std::ranges::find(attributes, name, &staging::Attribute::name);
    return place == attributes.end() ? nullptr : &*place;
}

uz_field_info info_of(const staging::StepInfo& step, const staging::Field& field) {
    const staging::Topology& mesh = step.topologies[field.topology];
    const auto* const plural = find(field.attributes, "units");
    const auto* const units = plural ? plural : find(field.attributes, "unit");
    const auto* const text = units ? std::get_if<std::string>(&units->value) : nullptr;
    const bool vertex = field.association == staging::Association::vertex;
    return {field.name.c_str(),
            mesh.name.c_str(),
            text ? text->c_str() : "",
            static_cast<uz_association>(field.association),
            static_cast<uz_type>(field.type),
            field.components,
            to_box(vertex ? staging::vertices_of(mesh.elements, mesh.dimension) : mesh.elements)};
}

/// Report the indices of a read box that no block holds; an error if the caller does not ask.
void report(const std::vector<staging::Box>& gaps, const std::string& field,
            std::int64_t* missing) {
    std::int64_t sum = 0; // the boxes do not overlap
    for (const auto& box : gaps)
        sum += box.volume();
    if (missing != nullptr)
        *missing = sum;
    else if (sum > 0)
        refuse("No block holds " + std::to_string(sum) + " values of the box of field \"" + field +
               "\": read a smaller box, or ask for the number that is missing.");
}

} // namespace

extern "C" {

uz_status uz_attach(const char* contact, MPI_Comm comm, double limit, uz_reader** reader) {
    return attached(contact, comm, limit, reader, false);
}

uz_status uz_attach_fortran(const char* contact, const MPI_Fint* comm, double limit,
                            uz_reader** reader) {
    if (comm == nullptr)
        return attached(contact, MPI_COMM_NULL, limit, reader, true);
    if (reader != nullptr)
        *reader = nullptr;
    const uz_status status = guarded([] { require_mpi("uz_attach"); });
    return status != UZ_OK ? status : attached(contact, MPI_Comm_f2c(*comm), limit, reader, true);
}

uz_status uz_next(uz_reader* reader, double limit, int* state) {
    return with(reader, [&](uz_reader& r) {
        given(state, "state");
        switch (r.reader.next(time_of(limit, "limit"))) {
        case staging::StepStatus::step:
            *state = UZ_STEP;
            break;
        case staging::StepStatus::timeout:
            *state = UZ_TIMEOUT;
            break;
        default:
            *state = UZ_ENDED;
        }
    });
}

uz_status uz_get_step(const uz_reader* reader, int64_t* index, double* time, int64_t* sequence) {
    return with(reader, [&](const uz_reader& r) {
        const staging::StepInfo& step = r.reader.step();
        if (index != nullptr)
            *index = step.index;
        if (time != nullptr)
            *time = step.time;
        if (sequence != nullptr)
            *sequence = static_cast<std::int64_t>(r.reader.sequence());
    });
}

uz_status uz_get_field_count(const uz_reader* reader, int* count) {
    return with(reader, [&](const uz_reader& r) {
        *given(count, "count") = static_cast<int>(r.reader.step().fields.size());
    });
}

uz_status uz_get_field_at(const uz_reader* reader, int place, uz_field_info* field) {
    return with(reader, [&](const uz_reader& r) {
        const staging::StepInfo& step = r.reader.step();
        if (place < 0 || static_cast<std::size_t>(place) >= step.fields.size())
            refuse("There is no field at place " + std::to_string(place) + "; the step has " +
                   std::to_string(step.fields.size()) + " fields.");
        *given(field, "field") = info_of(step, step.fields[static_cast<std::size_t>(place)]);
    });
}

uz_status uz_get_field(const uz_reader* reader, const char* name, uz_field_info* field) {
    return with(reader, [&](const uz_reader& r) {
        const staging::StepInfo& step = r.reader.step();
        *given(field, "field") = info_of(step, field_of(step, text_of(name, "name")));
    });
}

uz_status uz_get_mesh(const uz_reader* reader, const char* name, uz_mesh_info* mesh) {
    return with(reader, [&](const uz_reader& r) {
        const staging::StepInfo& step = r.reader.step();
        const staging::Topology& topology = mesh_of(step, text_of(name, "name"));
        uz_mesh_info info{
            topology.name.c_str(), "", topology.dimension, 0, to_box(topology.elements), {}, {}};
        const auto& coords = step.coordsets[topology.coordset].coords;
        if (const auto* uniform = std::get_if<staging::UniformCoords>(&coords)) {
            info.uniform = 1;
            std::ranges::copy(uniform->origin, info.origin);
            std::ranges::copy(uniform->spacing, info.spacing);
        } else if (const auto* field = std::get_if<staging::ExplicitCoords>(&coords)) {
            info.coordinates = field->field.c_str();
        }
        *given(mesh, "mesh") = info;
    });
}

uz_status uz_get_coordinates(const uz_reader* reader, const char* mesh, int axis, double* values) {
    return with(reader, [&](const uz_reader& r) {
        const staging::StepInfo& step = r.reader.step();
        const staging::Topology& topology = mesh_of(step, text_of(mesh, "mesh"));
        if (axis < 0 || axis > 2)
            refuse("There is no axis " + std::to_string(axis) + "; 0, 1 and 2 are z, y and x.");
        given(values, "values");
        const auto a = static_cast<std::size_t>(axis);
        const auto vertices = staging::vertices_of(topology.elements, topology.dimension);
        const auto& coords = step.coordsets[topology.coordset].coords;
        if (const auto* uniform = std::get_if<staging::UniformCoords>(&coords)) {
            for (std::int64_t i = 0; i < vertices.extent(a); ++i)
                values[i] = uniform->origin[a] +
                            static_cast<double>(vertices.lower[a] + i) * uniform->spacing[a];
        } else if (const auto* lines = std::get_if<staging::RectilinearCoords>(&coords)) {
            std::ranges::copy(lines->values[a], values);
        } else {
            refuse("The mesh \"" + topology.name +
                   "\" is curvilinear: read the field of its coordinates.");
        }
    });
}

uz_status uz_get_number(const uz_reader* reader, const char* attribute, double* value) {
    return with(reader, [&](const uz_reader& r) {
        const std::string name = text_of(attribute, "attribute");
        const auto* const known = find(r.reader.step().attributes, name);
        if (known == nullptr || std::holds_alternative<std::string>(known->value))
            refuse("The step has no attribute \"" + name + "\" that is a number.");
        const auto* const whole = std::get_if<std::int64_t>(&known->value);
        *given(value, "value") =
            whole != nullptr ? static_cast<double>(*whole) : std::get<double>(known->value);
    });
}

uz_status uz_get_text(const uz_reader* reader, const char* attribute, const char** value) {
    return with(reader, [&](const uz_reader& r) {
        const std::string name = text_of(attribute, "attribute");
        const auto* const known = find(r.reader.step().attributes, name);
        const auto* const text = known ? std::get_if<std::string>(&known->value) : nullptr;
        if (text == nullptr)
            refuse("The step has no attribute \"" + name + "\" that is a text.");
        *given(value, "value") = text->c_str();
    });
}

uz_status uz_read(uz_reader* reader, const char* field, uz_box box, void* values,
                  int64_t* missing) {
    return with(reader, [&](uz_reader& r) {
        const std::string name = text_of(field, "field");
        const staging::Field& known = field_of(r.reader.step(), name);
        const staging::Box wanted = box_of(box);
        const auto to =
            staging::packed_view(static_cast<std::byte*>(given(values, "values")), wanted.extents(),
                                 known.components, staging::size_of(known.type));
        report(r.reader.read(name, wanted, to), name, missing);
    });
}

uz_status uz_read_array(uz_reader* reader, const char* field, uz_box box, const uz_array* array,
                        int64_t* missing) {
    return with(reader, [&](uz_reader& r) {
        const std::string name = text_of(field, "field");
        const staging::Field& known = field_of(r.reader.step(), name);
        const staging::ConstArrayView view =
            checked_view(*given(array, "array"), name, known.type, known.components);
        if (!staging::Box::of(view.count).empty())
            given(array->data, "array->data");
        const staging::ArrayView to{const_cast<std::byte*>(view.data), view.count, view.layout,
                                    view.components, view.scalar_bytes};
        report(r.reader.read(name, box_of(box), to), name, missing);
    });
}

uz_status uz_release(uz_reader* reader) {
    return with(reader, [](uz_reader& r) { r.reader.release(); });
}

uz_status uz_send(uz_reader* reader, const char* text, uint64_t* number) {
    return with(reader, [&](uz_reader& r) {
        const std::string command = text_of(text, "text");
        const std::uint64_t sent = r.root ? r.reader.send(command) : 0;
        if (number != nullptr)
            *number = sent;
    });
}

uz_status uz_take_reply(uz_reader* reader, const char** text, uint64_t* number) {
    return with(reader, [&](uz_reader& r) {
        *given(text, "text") = nullptr;
        if (r.root)
            std::ranges::move(r.reader.take_replies(), std::back_inserter(r.replies));
        if (r.replies.empty())
            return;
        r.reply = std::move(r.replies.front().text);
        if (number != nullptr)
            *number = r.replies.front().number;
        r.replies.pop_front();
        *text = r.reply.c_str();
    });
}

uz_status uz_detach(uz_reader** reader) {
    return guarded([&] {
        const std::unique_ptr<uz_reader> leaving(std::exchange(*given(reader, "reader"), nullptr));
        if (leaving)
            leaving->reader.detach();
    });
}

} // extern "C"
