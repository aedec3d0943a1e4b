#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/mpi_handle.hpp"
#include "bindings/staging.hpp"
#include "bindings/staging_python.hpp"
#include "bindings/staging_reader.hpp"
#include "staging/writer.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using staging::Writer;

/// Run `work` in Python on each step, with a reader that ends with the call.
void on_step(Writer& writer, const nb::callable& work) {
    // The last copy of the function may be destroyed by a thread that has not Python's lock.
    const auto held = std::shared_ptr<nb::callable>(new nb::callable(work), [](nb::callable* p) {
        if (!nb::is_alive()) {
            p->release();
        } else {
            const nb::gil_scoped_acquire lock;
            p->reset();
        }
        delete p;
    });
    writer.on_step([held](staging::Reader& reader) {
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
            python.leave();
        });
    });
}

nb::dict counters(const Writer& writer) {
    const auto found = writer.counters();
    nb::dict result;
    result["published"] = found.published;
    result["delivered"] = found.delivered;
    result["dropped"] = found.dropped;
    result["seconds_waited"] = found.seconds_waited;
    result["peak_bytes"] = found.peak_bytes;
    result["bytes"] = found.bytes;
    result["steps"] = found.steps;
    return result;
}

} // namespace

void bind_staging_writer(nb::module_& module) {
    nb::class_<Writer>(module, "Writer")
        .def(
            "__init__",
            [](Writer* self, const std::string& name, const std::optional<std::uintptr_t>& comm,
               const staging::EngineOptions& options) {
                const nb::gil_scoped_release unlock;
                new (self) Writer(name, communicator(comm), options);
            },
            "name"_a, "comm"_a.none(), "options"_a)
        .def_static(
            "from_engine",
            [](const std::string& name, const std::optional<std::uintptr_t>& comm,
               nb::object engine) {
                auto made = std::make_unique<PythonEngine>(std::move(engine));
                const nb::gil_scoped_release unlock;
                return std::make_unique<Writer>(name, communicator(comm), std::move(made));
            },
            "name"_a, "comm"_a.none(), "engine"_a)
        .def("attribute", &Writer::attribute, "name"_a, "value"_a)
        .def(
            "uniform_mesh",
            [](Writer& writer, const std::string& name, const BoxPair& elements,
               std::array<double, 3> origin, std::array<double, 3> spacing,
               std::uint8_t dimension) {
                writer.uniform_mesh(name, box(elements), origin, spacing, dimension);
            },
            "name"_a, "elements"_a, "origin"_a, "spacing"_a, "dimension"_a)
        .def(
            "rectilinear_mesh",
            [](Writer& writer, const std::string& name, const BoxPair& elements,
               std::array<std::vector<double>, 3> coordinates, std::uint8_t dimension) {
                writer.rectilinear_mesh(name, box(elements), std::move(coordinates), dimension);
            },
            "name"_a, "elements"_a, "coordinates"_a, "dimension"_a)
        .def(
            "curvilinear_mesh",
            [](Writer& writer, const std::string& name, const BoxPair& elements,
               const std::string& field, const std::string& type, std::uint8_t dimension) {
                writer.curvilinear_mesh(name, box(elements), field, scalar_type(type), dimension);
            },
            "name"_a, "elements"_a, "field"_a, "type"_a, "dimension"_a)
        .def(
            "field",
            [](Writer& writer, const std::string& name, const std::string& mesh,
               const std::string& where, const std::string& type, std::uint32_t components,
               const nb::dict& attributes) {
                writer.field(name, mesh, association(where), scalar_type(type), components,
                             to_attributes(attributes));
            },
            "name"_a, "mesh"_a, "association"_a, "type"_a, "components"_a, "attributes"_a)
        .def(
            "block",
            [](Writer& writer, std::uint64_t id, const std::string& mesh, const BoxPair& owned,
               const std::string& where) {
                writer.block(id, mesh, box(owned), association(where));
            },
            "id"_a, "mesh"_a, "owned"_a, "association"_a)
        .def("remove_block", &Writer::remove_block, "id"_a)
        .def("begin_step", &Writer::begin_step, "index"_a, "time"_a,
             nb::call_guard<nb::gil_scoped_release>())
        .def(
            "put",
            [](Writer& writer, const std::string& field, std::uint64_t block, const Values& values,
               const GhostPair& widths) {
                writer.put(field, block, values_of(values), ghosts(widths));
            },
            "field"_a, "block"_a, "values"_a, "ghosts"_a)
        .def(
            "buffer",
            [](nb::handle self, const std::string& field, std::uint64_t block,
               const GhostPair& widths, const std::string& type) {
                auto& writer = nb::cast<Writer&>(self);
                return to_numpy(writer.buffer(field, block, ghosts(widths)), scalar_type(type),
                                self);
            },
            "field"_a, "block"_a, "ghosts"_a, "type"_a)
        .def("end_step", &Writer::end_step, nb::call_guard<nb::gil_scoped_release>())
        .def("close", &Writer::close, nb::call_guard<nb::gil_scoped_release>())
        .def("counters", &counters)
        .def_prop_ro("name", &Writer::name)
        .def("on_step", &on_step, "work"_a);
}

} // namespace uzushio::bindings
