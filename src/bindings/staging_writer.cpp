#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/mpi_handle.hpp"
#include "bindings/staging.hpp"
#include "bindings/staging_python.hpp"
#include "bindings/staging_reader.hpp"
#include "bindings/unlocked.hpp"
#include "staging/writer.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

/// Writer for Python. A recursive mutex serialises threads, since work inside `end_step` may call
/// it.
struct PythonWriter {
    /// Call a member of the writer, or a function on it, with `mutex` locked and without Python's
    /// lock.
    template <class Work, class... Arguments>
    auto operator()(Work&& work, Arguments&&... arguments) {
        return with_lock(mutex, [&] {
            return std::invoke(work, *writer, std::forward<Arguments>(arguments)...);
        });
    }

    std::unique_ptr<staging::Writer> writer;
    std::recursive_mutex mutex; ///< taken without Python's lock
};

using staging::Writer;

/// Run `work` in Python on each step, with a reader that ends with the call.
void on_step(PythonWriter& writer, const nb::callable& work) {
    // A thread without Python's lock may destroy the last copy of the function.
    const auto held = std::shared_ptr<nb::callable>(new nb::callable(work), [](nb::callable* p) {
        drop(*p);
        delete p;
    });
    writer(&Writer::on_step, [held](staging::Reader& reader) {
        with_python([&] {
            nb::object handle = nb::cast(std::make_unique<PythonReader>(reader));
            std::exception_ptr error;
            try {
                (*held)(handle);
            } catch (nb::python_error&) {
                error = std::current_exception();
            }
            auto& python = nb::cast<PythonReader&>(handle);
            if (error)
                std::rethrow_exception(error);
            python.invalidate();
        });
    });
}

bool returns_true(const nb::callable& function) {
    bool result = false;
    with_python([&] { result = nb::cast<bool>(function()); });
    return result;
}

/// Put values of many blocks: {id: array}.
void put_blocks(PythonWriter& writer, const std::string& field, const nb::dict& values,
                const GhostPair& widths, bool component_axis) {
    std::vector<std::pair<std::uint64_t, staging::ConstArrayView>> views;
    views.reserve(values.size());
    for (const auto& [block, array] : values) { // the dict keeps the memory
        std::uint64_t id = 0;
        if (!nb::try_cast(block, id))
            throw nb::type_error("Blocks have whole numbers from 0, also as keys of values.");
        views.emplace_back(id, values_of(nb::cast<Values>(array), component_axis));
    }
    writer([&](Writer& w) {
        for (const auto& [block, view] : views)
            w.put(field, block, view, ghosts(widths));
    });
}

nb::dict counters(PythonWriter& writer) {
    const auto counted = writer(&Writer::counters);
    nb::dict result;
    result["published"] = counted.published;
    result["delivered"] = counted.delivered;
    result["dropped"] = counted.dropped;
    result["seconds_waited"] = counted.seconds_waited;
    result["peak_bytes"] = counted.peak_bytes;
    result["bytes"] = counted.bytes;
    result["steps"] = counted.steps;
    return result;
}

/// Return (reader, number, text, left) of each command.
nb::list take_commands(PythonWriter& writer) {
    nb::list result;
    for (const auto& received : writer(&Writer::take_commands))
        result.append(nb::make_tuple(received.reader, received.command.number,
                                     valid_text(received.command.text), received.left));
    return result;
}

} // namespace

void bind_staging_writer(nb::module_& module) {
    nb::class_<PythonWriter>(module, "Writer")
        .def(
            "__init__",
            [](PythonWriter* self, const std::string& name,
               const std::optional<std::uintptr_t>& comm, const staging::EngineOptions& options) {
                auto made = interruptible(
                    [&] { return std::make_unique<Writer>(name, communicator(comm), options); });
                new (self) PythonWriter{std::move(made), {}};
            },
            "name"_a, "comm"_a.none(), "options"_a)
        .def_static(
            "from_engine",
            [](const std::string& name, const std::optional<std::uintptr_t>& comm,
               nb::object engine, bool warn) {
                auto made = std::make_unique<PythonEngine>(std::move(engine));
                auto writer = interruptible([&] {
                    return std::make_unique<Writer>(name, communicator(comm), std::move(made),
                                                    warn ? staging::OnError::warn
                                                         : staging::OnError::fail);
                });
                return std::unique_ptr<PythonWriter>(new PythonWriter{std::move(writer), {}});
            },
            "name"_a, "comm"_a.none(), "engine"_a, "warn"_a = false)
        .def("attribute", calling<PythonWriter>(&Writer::attribute), "name"_a, "value"_a)
        .def("uniform_mesh", calling<PythonWriter>(&Writer::uniform_mesh), "name"_a, "elements"_a,
             "origin"_a, "spacing"_a, "dimension"_a)
        .def("rectilinear_mesh", calling<PythonWriter>(&Writer::rectilinear_mesh), "name"_a,
             "elements"_a, "coordinates"_a, "dimension"_a)
        .def(
            "curvilinear_mesh",
            [](PythonWriter& writer, const std::string& name, const staging::Box& elements,
               const std::string& field, const std::string& type, std::uint8_t dimension) {
                writer(&Writer::curvilinear_mesh, name, elements, field, scalar_type(type),
                       dimension);
            },
            "name"_a, "elements"_a, "field"_a, "type"_a, "dimension"_a)
        .def(
            "field",
            [](PythonWriter& writer, const std::string& name, const std::string& mesh,
               const std::string& where, const std::string& type, std::uint32_t components,
               const nb::dict& attributes) {
                writer(&Writer::field, name, mesh, association(where), scalar_type(type),
                       components, to_attributes(attributes));
            },
            "name"_a, "mesh"_a, "association"_a, "type"_a, "components"_a, "attributes"_a)
        .def(
            "block",
            [](PythonWriter& writer, std::uint64_t id, const std::string& mesh,
               const staging::Box& owned, const std::string& where) {
                writer(&Writer::block, id, mesh, owned, association(where));
            },
            "id"_a, "mesh"_a, "owned"_a, "association"_a)
        .def("remove_block", calling<PythonWriter>(&Writer::remove_block), "id"_a)
        .def("begin_step", calling<PythonWriter>(&Writer::begin_step), "index"_a, "time"_a)
        .def(
            "put",
            [](PythonWriter& writer, const std::string& field, std::uint64_t block,
               const Values& values, const GhostPair& widths, bool component_axis) {
                const auto view = values_of(values, component_axis);
                writer([&](Writer& w) { w.put(field, block, view, ghosts(widths)); });
            },
            "field"_a, "block"_a, "values"_a, "ghosts"_a, "component_axis"_a)
        .def("put_blocks", &put_blocks, "field"_a, "values"_a, "ghosts"_a, "component_axis"_a)
        .def(
            "buffer",
            [](nb::handle self, const std::string& field, std::uint64_t block,
               const GhostPair& widths, const std::string& type) {
                auto& writer = nb::cast<PythonWriter&>(self);
                const auto memory = writer(&Writer::buffer, field, block, ghosts(widths));
                return to_numpy(memory, scalar_type(type), self);
            },
            "field"_a, "block"_a, "ghosts"_a, "type"_a)
        .def(
            "end_step",
            [](PythonWriter& writer, const std::optional<nb::callable>& stop) {
                return writer([&](Writer& w) {
                    const staging::StopScope scope([&] { return stop && returns_true(*stop); });
                    return w.end_step();
                });
            },
            "stop"_a.none())
        .def("cancel_step", calling<PythonWriter>(&Writer::cancel_step), "reason"_a)
        .def("abandon", calling<PythonWriter>(&Writer::abandon), "reason"_a)
        .def(
            "close",
            [](PythonWriter& writer, const std::optional<nb::callable>& stop) {
                writer([&](Writer& w) {
                    const staging::StopScope scope([&] { return stop && returns_true(*stop); });
                    w.close();
                });
            },
            "stop"_a.none())
        .def("counters", &counters)
        .def("take_commands", &take_commands)
        .def("reply", calling<PythonWriter>(&Writer::reply), "reader"_a, "number"_a, "text"_a)
        .def_prop_ro("name", [](PythonWriter& writer) { return writer.writer->name(); })
        .def("on_step", &on_step, "work"_a);
}

} // namespace uzushio::bindings
