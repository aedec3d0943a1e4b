#include "bindings/staging.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <variant>

#include "bindings/bindings.hpp"
#include "bindings/mpi_handle.hpp"
#include "bindings/staging_python.hpp"
#include "bindings/unlocked.hpp"
#include "staging/choose_options.hpp"
#include "staging/engine_options.hpp"
#include "staging/queue/queue_timeout.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/transport/engines.hpp"
#include "staging/transport/socket/contact_file.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

void raise(const char* kind, const std::exception& error) {
    const nb::object type = nb::module_::import_("uzushio.errors").attr(kind);
    PyErr_SetString(type.ptr(), error.what());
}

/// Translate each type of StagingError to the class of the same name in uzushio.errors.
void translate(const std::exception_ptr& pointer, void*) {
    try {
        std::rethrow_exception(pointer);
    } catch (const staging::PeerGone& error) {
        raise("PeerGone", error);
    } catch (const staging::PeerSilent& error) {
        raise("PeerSilent", error);
    } catch (const staging::QueueTimeout& error) {
        raise("QueueTimeout", error);
    } catch (const staging::WaitStopped& error) {
        raise("WaitStopped", error);
    } catch (const staging::StagingError& error) {
        raise("StagingError", error);
    }
}

nb::dlpack::dtype dtype_of(staging::ScalarType type) {
    const bool real = type == staging::ScalarType::float32 || type == staging::ScalarType::float64;
    const auto code = real                                 ? nb::dlpack::dtype_code::Float
                      : type == staging::ScalarType::uint8 ? nb::dlpack::dtype_code::UInt
                                                           : nb::dlpack::dtype_code::Int;
    return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * staging::size_of(type)),
            1};
}

/// Return the view of an array [z, y, x, component]. NumPy's stride of an axis of one value is
/// arbitrary and is ignored.
template <class View, class Array> View view_of(const Array& array, bool component_axis) {
    const std::size_t last = component_axis ? 1 : 0;
    if (array.ndim() < 1 + last || array.ndim() > 3 + last)
        throw nb::type_error("staging takes arrays [z, y, x, component]");
    const std::size_t axes = array.ndim() - last;
    const std::size_t first = 3 - axes; // of the axes that the array has
    View view;
    view.data = static_cast<decltype(view.data)>(array.data());
    view.scalar_bytes = static_cast<std::int64_t>(array.itemsize());
    view.components = component_axis ? static_cast<std::int64_t>(array.shape(axes)) : 1;
    view.count = {1, 1, 1};
    for (std::size_t axis = 0; axis < axes; ++axis)
        view.count[first + axis] = static_cast<std::int64_t>(array.shape(axis));
    view.layout = staging::interleaved(view.count, view.components, view.scalar_bytes);
    for (std::size_t axis = 0; axis < axes; ++axis)
        if (view.count[first + axis] > 1)
            view.layout.strides[first + axis] = array.stride(axis) * view.scalar_bytes;
    if (view.components > 1)
        view.layout.component_stride = array.stride(axes) * view.scalar_bytes;
    return view;
}

template <class Array, class View>
nb::object numpy_of(const View& view, staging::ScalarType type, nb::handle owner) {
    const std::size_t shape[] = {
        static_cast<std::size_t>(view.count[0]), static_cast<std::size_t>(view.count[1]),
        static_cast<std::size_t>(view.count[2]), static_cast<std::size_t>(view.components)};
    const std::int64_t strides[] = {view.layout.strides[0] / view.scalar_bytes,
                                    view.layout.strides[1] / view.scalar_bytes,
                                    view.layout.strides[2] / view.scalar_bytes,
                                    view.layout.component_stride / view.scalar_bytes};
    return nb::cast(Array(view.data, 4, shape, owner, strides, dtype_of(type)),
                    nb::rv_policy::reference);
}

} // namespace

staging::Association association(const std::string& name) {
    if (name != "vertex" && name != "element")
        throw staging::StagingError("The association must be \"vertex\" or \"element\", not \"" +
                                    name + "\".");
    return name == "vertex" ? staging::Association::vertex : staging::Association::element;
}

staging::ScalarType scalar_type(const std::string& name) {
    for (std::uint8_t code = 1; staging::is_scalar_type(code); ++code)
        if (name == staging::name_of(staging::ScalarType{code}))
            return staging::ScalarType{code};
    throw staging::StagingError("Staging supports float32, float64, int32, int64 and uint8, not " +
                                name + ".");
}

nb::dict to_dict(const std::vector<staging::Attribute>& attributes) {
    nb::dict result;
    for (const auto& attribute : attributes)
        result[attribute.name.c_str()] =
            std::visit([](const auto& value) { return nb::cast(value); }, attribute.value);
    return result;
}

std::vector<staging::Attribute> to_attributes(const nb::dict& attributes) {
    std::vector<staging::Attribute> result;
    for (const auto& [key, value] : attributes) {
        staging::Attribute attribute{nb::cast<std::string>(key), {}};
        if (nb::isinstance<nb::str>(value))
            attribute.value = nb::cast<std::string>(value);
        else if (nb::isinstance<nb::int_>(value))
            attribute.value = nb::cast<std::int64_t>(value);
        else if (double number = 0.0; nb::try_cast(value, number))
            attribute.value = number;
        else
            throw nb::type_error(
                ("The attribute " + attribute.name + " must be a number or a text.").c_str());
        result.push_back(std::move(attribute));
    }
    return result;
}

staging::ConstArrayView values_of(const Values& array, bool component_axis) {
    return view_of<staging::ConstArrayView>(array, component_axis);
}

staging::ArrayView values_of(const Target& array, bool component_axis) {
    return view_of<staging::ArrayView>(array, component_axis);
}

nb::object to_numpy(const staging::ConstArrayView& view, staging::ScalarType type,
                    nb::handle owner) {
    return numpy_of<nb::ndarray<nb::numpy, nb::ro>>(view, type, owner);
}

nb::object to_numpy(const staging::ArrayView& view, staging::ScalarType type, nb::handle owner) {
    return numpy_of<nb::ndarray<nb::numpy>>(view, type, owner);
}

namespace {

/// Return the values of a mapping, in YAML's types.
YAML::Node node_of(nb::handle value) {
    YAML::Node node;
    if (nb::isinstance<nb::dict>(value)) {
        node = YAML::Node(YAML::NodeType::Map);
        for (const auto& [key, item] : nb::borrow<nb::dict>(value))
            node[nb::str(key).c_str()] = node_of(item);
    } else if (nb::isinstance<nb::list>(value)) {
        node = YAML::Node(YAML::NodeType::Sequence);
        for (const nb::handle item : value)
            node.push_back(node_of(item));
    } else if (nb::isinstance<nb::bool_>(value)) {
        node = nb::cast<bool>(value);
    } else if (!value.is_none()) {
        node = nb::str(value).c_str();
    }
    return node;
}

nb::bytes from_rank_0(const std::optional<std::uintptr_t>& comm, const nb::callable& work) {
    const auto bytes = interruptible([&] {
        const parallel::CollectiveGroup group = staging::stream_group(communicator(comm));
        return group.from_root([&] {
            std::vector<std::byte> answer;
            with_python([&] {
                const auto result = nb::cast<nb::bytes>(work());
                const auto* first = static_cast<const std::byte*>(result.data());
                answer.assign(first, first + result.size());
            });
            return answer;
        });
    });
    return nb::bytes(bytes.data(), bytes.size());
}

} // namespace

void bind_staging(nb::module_& module) {
    nb::register_exception_translator(&translate);

    nb::class_<staging::EngineOptions>(module, "Options")
        .def(nb::init<>())
        .def_rw("engine", &staging::EngineOptions::engine)
        .def_rw("contact", &staging::EngineOptions::contact)
        .def_rw("wait_for_readers", &staging::EngineOptions::wait_for_readers)
        .def_prop_ro("wait_limit",
                     [](const staging::EngineOptions& o) { return seconds(o.wait_limit); })
        .def_prop_ro("close_limit",
                     [](const staging::EngineOptions& o) { return seconds(o.close_limit); })
        .def_prop_ro("depth", [](const staging::EngineOptions& o) { return o.queue.depth; })
        .def_prop_ro("time_limit",
                     [](const staging::EngineOptions& o) { return seconds(o.queue.time_limit); })
        .def_prop_ro("policy",
                     [](const staging::EngineOptions& options) {
                         constexpr const char* names[] = {"block", "drop_newest", "drop_oldest",
                                                          "latest_only"};
                         return names[static_cast<std::size_t>(options.queue.policy)];
                     })
        .def_prop_ro("keep_newest",
                     [](const staging::EngineOptions& o) { return o.queue.keep_newest; })
        .def_prop_ro("limits_bytes",
                     [](const staging::EngineOptions& options) {
                         return options.queue.bytes != staging::QueueOptions{}.bytes;
                     })
        .def_ro("checksums", &staging::EngineOptions::checksums)
        .def_prop_ro("adios2_kind", [](const staging::EngineOptions& o) { return o.adios2.kind; })
        .def_prop_ro("adios2_parameters",
                     [](const staging::EngineOptions& o) { return o.adios2.parameters; })
        .def_prop_ro("overwrite", [](const staging::EngineOptions& o) { return o.file.overwrite; })
        .def_prop_rw(
            "on_error",
            [](const staging::EngineOptions& options) -> std::optional<std::string> {
                if (!options.on_error)
                    return std::nullopt;
                return options.on_error == staging::OnError::warn ? "warn" : "fail";
            },
            [](staging::EngineOptions& options, const std::string& name) {
                options.on_error = name == "warn" ? staging::OnError::warn : staging::OnError::fail;
            })
        .def_prop_ro("fails_on_timeout",
                     [](const staging::EngineOptions& options) {
                         return options.queue.on_timeout == staging::OnTimeout::fail;
                     })
        .def_prop_rw(
            "folder", [](const staging::EngineOptions& options) { return options.file.folder; },
            [](staging::EngineOptions& options, const std::filesystem::path& folder) {
                options.file.folder = folder;
            });
    module.def(
        "parse_options",
        [](nb::handle options, const std::string& where) {
            return staging::parse_options(node_of(options), where);
        },
        "options"_a, "where"_a);
    module.def(
        "choose_options",
        [](const std::filesystem::path& file, const std::optional<std::uintptr_t>& comm) {
            return interruptible([&] { return staging::choose_options(file, communicator(comm)); });
        },
        "file"_a, "comm"_a.none());
    module.def("engine_names", &staging::engine_names);
    module.def(
        "from_rank_0", &from_rank_0, "comm"_a.none(), "work"_a,
        "Return on all ranks of `comm` the bytes that `work` returns on rank 0. All ranks raise "
        "if it raises or a rank aborts. Long waits in it must call `heed` regularly.");
    module.def("heed", &parallel::run_wait_hooks);
    module.def(
        "heed_stop",
        [] {
            const auto scope = staging::stop_hook();
            parallel::run_wait_hooks();
        },
        "For waits for readers: call `heed`, and raise WaitStopped if the program is to stop.");
    nb::class_<staging::socket::ContactFile>(module, "ContactFile")
        .def(nb::init<std::filesystem::path, std::string>(), "file"_a, "text"_a);

    bind_staging_model(module);
    bind_staging_writer(module);
    bind_staging_reader(module);
    bind_staging_relay(module);
}

} // namespace uzushio::bindings
