#include "staging/relay/relay.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <filesystem>
#include <optional>
#include <string>

#include "bindings/mpi_handle.hpp"
#include "bindings/staging.hpp"
#include "bindings/staging_python.hpp"
#include "staging/stream_group.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

/// A relay with the group that it needs.
class PythonRelay {
  public:
    PythonRelay(std::optional<std::uintptr_t> comm, const staging::relay::RelayOptions& options)
        : group_(staging::stream_group(communicator(comm))), relay_(options, group_) {}

    void run(const nb::callable& go_on) {
        const nb::gil_scoped_release unlock;
        relay_.run([&] {
            bool more = false;
            with_python([&] { more = nb::cast<bool>(go_on()); });
            return more;
        });
    }
    [[nodiscard]] nb::dict status() const {
        const auto now = relay_.status();
        nb::dict result;
        result["stream"] = now.stream;
        result["readers"] = now.readers;
        result["connections"] = now.connections;
        result["passed"] = now.passed;
        result["held"] = now.held;
        result["max_held"] = now.max_held;
        return result;
    }

  private:
    parallel::CollectiveGroup group_;
    staging::relay::Relay relay_;
};

} // namespace

void bind_staging_relay(nb::module_& module) {
    nb::class_<PythonRelay>(module, "Relay")
        .def(
            "__init__",
            [](PythonRelay* self, const std::string& from, const std::filesystem::path& to,
               std::optional<std::uintptr_t> comm, const std::string& secret, bool from_tls,
               const std::string& listen, std::uint16_t port, const std::string& advertise,
               bool tls, std::size_t bytes, bool once, double wait) {
                const staging::relay::RelayOptions options{
                    from,  to,   secret,           from_tls, {listen, port, advertise, tls},
                    bytes, once, nanoseconds(wait)};
                new (self) PythonRelay(comm, options);
            },
            "from_"_a, "to"_a, "comm"_a.none(), "secret"_a, "from_tls"_a, "listen"_a, "port"_a,
            "advertise"_a, "tls"_a, "bytes"_a, "once"_a, "wait"_a)
        .def("run", &PythonRelay::run, "go_on"_a)
        .def("status", &PythonRelay::status);
}

} // namespace uzushio::bindings
