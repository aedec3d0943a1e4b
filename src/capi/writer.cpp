#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "capi/arguments.hpp"
#include "capi/status.hpp"
#include "staging/choose_options.hpp"
#include "staging/stream_group.hpp"
#include "staging/writer.hpp"
#include "uzushio/uzushio.h"

using namespace uzushio;
using namespace uzushio::capi;

/// A Writer, with the types of its fields for checks of strided arrays.
struct uz_writer {
    struct Values {
        staging::ScalarType type;
        std::uint32_t components;
    };
    staging::Writer writer;
    std::map<std::string, Values, std::less<>> fields;
    parallel::CollectiveGroup group;               ///< of the ranks, for commands
    bool fortran = false;                          ///< messages are for Fortran
    std::deque<staging::ReceivedCommand> commands; ///< not yet taken, on rank 0
    std::string text;                              ///< of the command that was taken last
};

namespace {

std::unique_ptr<uz_writer> open(const char* name, MPI_Comm comm, const char* file,
                                uz_writer** writer) {
    if (comm != MPI_COMM_NULL)
        require_mpi("uz_open");
    parallel::CollectiveGroup group = staging::stream_group(comm);
    std::string stream;
    try {
        group.run_collectively([&] {
            stream = text_of(name, "name");
            given(writer, "writer");
        });
    } catch (const staging::StagingError& error) {
        refuse(error.what()); // on all ranks
    }
    const auto options = staging::choose_options(file != nullptr ? file : "", comm);
    return std::unique_ptr<uz_writer>(new uz_writer{
        staging::Writer(std::move(stream), comm, options), {}, std::move(group), false, {}, {}});
}

uz_status opened(const char* name, MPI_Comm comm, const char* file, uz_writer** writer) {
    if (writer != nullptr)
        *writer = nullptr;
    return guarded([&] { *writer = open(name, comm, file, writer).release(); });
}

uz_status opened_by_fortran(const char* name, MPI_Comm comm, const char* file, uz_writer** writer) {
    const uz_status status = opened(name, comm, file, writer);
    if (status == UZ_OK)
        (*writer)->fortran = true;
    return status;
}

/// Run `work` with the writer of a handle.
template <class Work> uz_status with(uz_writer* writer, Work&& work) noexcept {
    return guarded([&] {
        uz_writer& w = require_open(writer);
        std::optional<staging::FortranMessageScope> messages;
        if (w.fortran)
            messages.emplace();
        work(w);
    });
}

template <class Value>
uz_status attribute(uz_writer* writer, const char* name, const Value& value) {
    return with(writer, [&](uz_writer& w) {
        w.writer.attribute(text_of(name, "name"),
                           std::variant<std::int64_t, double, std::string>(value));
    });
}

/// Return the view of an array, which is checked against its field if that is known; the writer
/// reports unknown fields.
staging::ConstArrayView checked(const uz_writer& w, const std::string& field,
                                const uz_array& array) {
    const auto known = w.fields.find(field);
    const auto values =
        known != w.fields.end()
            ? known->second
            : uz_writer::Values{type_of(array.type), static_cast<std::uint32_t>(array.components)};
    return checked_view(array, field, values.type, values.components);
}

} // namespace

extern "C" {

const char* uz_version(void) { return UZUSHIO_VERSION; }

const char* uz_error_message(void) { return last_message(); }

uz_status uz_open(const char* name, MPI_Comm comm, const char* file, uz_writer** writer) {
    return opened(name, comm, file, writer);
}

uz_status uz_open_fortran(const char* name, const MPI_Fint* comm, const char* file,
                          uz_writer** writer) {
    if (comm == nullptr)
        return opened_by_fortran(name, MPI_COMM_NULL, file, writer);
    if (writer != nullptr)
        *writer = nullptr;
    const uz_status status = guarded([] { require_mpi("uz_open"); });
    return status != UZ_OK ? status : opened_by_fortran(name, MPI_Comm_f2c(*comm), file, writer);
}

uz_status uz_attribute_int(uz_writer* writer, const char* name, int64_t value) {
    return attribute(writer, name, value);
}

uz_status uz_attribute_double(uz_writer* writer, const char* name, double value) {
    return attribute(writer, name, value);
}

uz_status uz_attribute_text(uz_writer* writer, const char* name, const char* value) {
    return with(writer, [&](uz_writer& w) {
        w.writer.attribute(text_of(name, "name"), std::string(given(value, "value")));
    });
}

uz_status uz_uniform_mesh(uz_writer* writer, const char* name, int dimension, uz_box elements,
                          const double* origin, const double* spacing) {
    return with(writer, [&](uz_writer& w) {
        w.writer.uniform_mesh(text_of(name, "name"), box_of(elements), triple_of(origin, "origin"),
                              triple_of(spacing, "spacing"), dimension_of(dimension));
    });
}

uz_status uz_rectilinear_mesh(uz_writer* writer, const char* name, int dimension, uz_box elements,
                              const double* z, const double* y, const double* x) {
    return with(writer, [&](uz_writer& w) {
        const auto box = box_of(elements);
        const auto axes = dimension_of(dimension);
        w.writer.rectilinear_mesh(text_of(name, "name"), box, coordinates_of(box, axes, {z, y, x}),
                                  axes);
    });
}

uz_status uz_curvilinear_mesh(uz_writer* writer, const char* name, int dimension, uz_box elements,
                              const char* coordinates, uz_type type) {
    return with(writer, [&](uz_writer& w) {
        const std::string field = text_of(coordinates, "coordinates");
        const auto scalar = type_of(type);
        if (type != UZ_FLOAT32 && type != UZ_FLOAT64)
            refuse("Coordinates must be UZ_FLOAT32 or UZ_FLOAT64.");
        w.writer.curvilinear_mesh(text_of(name, "name"), box_of(elements), field, scalar,
                                  dimension_of(dimension));
        w.fields.insert_or_assign(field, uz_writer::Values{scalar, 3});
    });
}

uz_status uz_field(uz_writer* writer, const char* name, const char* mesh,
                   uz_association association, uz_type type, int components, const char* units) {
    return with(writer, [&](uz_writer& w) {
        const std::string field = text_of(name, "name");
        if (components < 1 || components > 65536)
            refuse("Field '" + field + "' cannot have " + std::to_string(components) +
                   " components; 1 to 65536 are allowed.");
        std::vector<staging::Attribute> attributes;
        if (units != nullptr && *units != '\0')
            attributes.push_back({"units", std::string(units)});
        const auto number = static_cast<std::uint32_t>(components);
        w.writer.field(field, text_of(mesh, "mesh"), association_of(association), type_of(type),
                       number, std::move(attributes));
        w.fields.insert_or_assign(field, uz_writer::Values{type_of(type), number});
    });
}

uz_status uz_block(uz_writer* writer, uint64_t id, const char* mesh, uz_box owned,
                   uz_association association) {
    return with(writer, [&](uz_writer& w) {
        w.writer.block(id, text_of(mesh, "mesh"), box_of(owned), association_of(association));
    });
}

uz_status uz_remove_block(uz_writer* writer, uint64_t id) {
    return with(writer, [&](uz_writer& w) { w.writer.remove_block(id); });
}

uz_status uz_begin_step(uz_writer* writer, int64_t index, double time) {
    return with(writer, [&](uz_writer& w) { w.writer.begin_step(index, time); });
}

uz_status uz_put(uz_writer* writer, const char* field, uint64_t block, const void* values,
                 const uz_ghosts* ghosts) {
    return with(writer, [&](uz_writer& w) {
        w.writer.put(text_of(field, "field"), block, given(values, "values"), ghosts_of(ghosts));
    });
}

uz_status uz_put_array(uz_writer* writer, const char* field, uint64_t block, const uz_array* array,
                       const uz_ghosts* ghosts) {
    return with(writer, [&](uz_writer& w) {
        const std::string name = text_of(field, "field");
        const auto view = checked(w, name, *given(array, "array"));
        const bool empty = staging::Box::of(view.count).empty();
        if (!empty)
            given(array->data, "array->data");
        w.writer.put(name, block, view, ghosts_of(ghosts));
    });
}

uz_status uz_buffer(uz_writer* writer, const char* field, uint64_t block, const uz_ghosts* ghosts,
                    uz_type type, void** memory, int64_t* count) {
    if (memory != nullptr)
        *memory = nullptr;
    return with(writer, [&](uz_writer& w) {
        given(memory, "memory");
        const std::string name = text_of(field, "field");
        const auto known = w.fields.find(name);
        if (known != w.fields.end() && known->second.type != type_of(type))
            refuse("Field '" + name + "' is of " +
                   std::string(staging::name_of(known->second.type)) +
                   ", but memory was requested for " +
                   std::string(staging::name_of(type_of(type))) + ".");
        const auto view = w.writer.buffer(name, block, ghosts_of(ghosts));
        *memory = view.data;
        if (count != nullptr) {
            std::copy(view.count.begin(), view.count.end(), count);
            count[3] = view.components;
        }
    });
}

uz_status uz_end_step(uz_writer* writer, int64_t* sequence) {
    return with(writer, [&](uz_writer& w) {
        const std::optional<std::uint64_t> accepted = w.writer.end_step();
        if (sequence != nullptr)
            *sequence = accepted ? static_cast<std::int64_t>(*accepted) : -1;
    });
}

uz_status uz_cancel_step(uz_writer* writer, const char* reason) {
    return with(writer, [&](uz_writer& w) { w.writer.cancel_step(text_of(reason, "reason")); });
}

uz_status uz_defer_error(uz_writer* writer, const char* reason) {
    return with(writer, [&](uz_writer& w) {
        const std::string text = text_of(reason, "reason");
        if (!w.writer.defer_error(text))
            throw staging::StagingError(text);
    });
}

uz_status uz_take_command(uz_writer* writer, uz_command* command) {
    return with(writer, [&](uz_writer& w) {
        *given(command, "command") = {};
        auto taken = w.writer.take_commands();
        std::ranges::move(taken, std::back_inserter(w.commands));
        // reader, number, left, then the text; nothing if there is none
        w.text = w.group.from_root([&]() -> std::string {
            if (w.commands.empty())
                return {};
            const staging::ReceivedCommand next = std::move(w.commands.front());
            w.commands.pop_front();
            const std::array<std::uint64_t, 3> numbers{next.reader, next.command.number,
                                                       next.left ? 1u : 0u};
            std::string message(sizeof(numbers), '\0');
            std::memcpy(message.data(), numbers.data(), sizeof(numbers));
            return message + next.command.text;
        });
        std::array<std::uint64_t, 3> numbers{};
        if (w.text.size() < sizeof(numbers))
            return;
        std::memcpy(numbers.data(), w.text.data(), sizeof(numbers));
        w.text.erase(0, sizeof(numbers));
        *command = {numbers[0], numbers[1], w.text.c_str(), static_cast<int>(numbers[2])};
    });
}

uz_status uz_reply(uz_writer* writer, uint64_t reader, uint64_t number, const char* text) {
    return with(writer, [&](uz_writer& w) {
        const std::string reply = given(text, "text");
        if (w.group.rank() == 0)
            w.writer.reply(reader, number, reply);
    });
}

uz_status uz_get_counters(const uz_writer* writer, uz_counters* counters) {
    return guarded([&] {
        const auto now = require_open(writer).writer.counters();
        *given(counters, "counters") = {now.published,      now.delivered,  now.dropped,
                                        now.seconds_waited, now.peak_bytes, now.bytes,
                                        now.steps};
    });
}

uz_status uz_close(uz_writer** writer) {
    return guarded([&] {
        const std::unique_ptr<uz_writer> closing(std::exchange(*given(writer, "writer"), nullptr));
        if (closing)
            closing->writer.close();
    });
}

void uz_abandon(uz_writer** writer) {
    if (writer != nullptr)
        delete std::exchange(*writer, nullptr);
}

} // extern "C"
