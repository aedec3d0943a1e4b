#include "bindings/staging_reader.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <utility>

#include "bindings/mpi_handle.hpp"
#include "bindings/staging_python.hpp"
#include "staging/staging_error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

const char* name_of(staging::Arrival arrival) {
    switch (arrival) {
    case staging::Arrival::step:
        return "step";
    case staging::Arrival::timeout:
        return "timeout";
    case staging::Arrival::ended:
        return "ended";
    case staging::Arrival::detached:
        break;
    }
    return "detached";
}

staging::ReaderOptions options_of(const std::string& stream, double attach_limit,
                                  double answer_limit, int connections, bool verify,
                                  const std::string& secret, bool tls) {
    staging::ReaderOptions options;
    options.stream = stream;
    options.attach_limit = nanoseconds(attach_limit);
    options.answer_limit = nanoseconds(answer_limit);
    options.connections = connections;
    options.verify = verify;
    options.secret = secret;
    options.tls = tls;
    return options;
}

} // namespace

staging::Reader& PythonReader::get() const {
    if (reader_ == nullptr || leaving_)
        throw staging::StagingError("The reader has detached; attach again to read on.");
    return *reader_;
}

/// All ranks come here in any collective call, and see whether some of them leave. Returns whether
/// any has views.
bool PythonReader::meet(bool leaves) {
    if (team_.size() == 1)
        return views_ > 0;
    const nb::gil_scoped_release unlock;
    std::array<std::uint64_t, 3> ranks{leaves ? 1u : 0u, leaves ? 0u : 1u, views_ > 0 ? 1u : 0u};
    team_.max(ranks);
    const auto [leave, stay, look] = ranks;
    if (leave == 0 || stay == 0)
        return look != 0;
    leaving_ = true; // nothing more is done together
    std::exception_ptr why;
    if (leaves)
        why = fault_ ? fault_
                     : std::make_exception_ptr(staging::StagingError(
                           "Rank " + std::to_string(team_.rank()) +
                           " of this reader has left while others read on: it failed, or detached "
                           "alone; all have to detach together."));
    try {
        team_.agree(why);
    } catch (const staging::StagingError&) {
        if (leaves)
            return look != 0;
        if (views_ == 0) {
            own_.reset();
            reader_ = nullptr;
        }
        throw;
    }
    return look != 0;
}

void PythonReader::check_views() {
    if (!meet(false))
        return;
    std::optional<std::string> error;
    if (views_ > 0)
        error = "The step cannot be given back while " + std::to_string(views_) +
                (views_ == 1 ? " array of view() looks" : " arrays of view() look") +
                " at its memory: delete them first (`del`, or leave the function that holds "
                "them), or take copies with values().";
    const nb::gil_scoped_release unlock;
    team_.agree(error);
}

std::string PythonReader::next(double limit) {
    auto& reader = get();
    check_views();
    fault_ = nullptr;
    const nb::gil_scoped_release unlock;
    return name_of(reader.next(nanoseconds(limit)));
}

std::vector<BoxPair> PythonReader::read(const std::string& field, const BoxPair& wanted,
                                        const Target& to) {
    auto& reader = get();
    std::vector<staging::Box> missing;
    {
        const auto view = values_of(to);
        const nb::gil_scoped_release unlock;
        keeping([&] { missing = reader.read(field, box(wanted), view); });
    }
    std::vector<BoxPair> result;
    for (const auto& hole : missing)
        result.push_back(pair(hole));
    return result;
}

void PythonReader::read_block(const std::string& field, std::uint32_t block, bool with_ghosts,
                              const Target& to) {
    auto& reader = get();
    const auto view = values_of(to);
    const nb::gil_scoped_release unlock;
    keeping([&] { reader.read_block(field, block, with_ghosts, view); });
}

nb::object PythonReader::view(nb::handle self, const std::string& field, std::uint32_t block) {
    auto& reader = get();
    const auto found = reader.view(field, block);
    if (!found)
        return nb::none();
    struct Look {
        nb::object self;
        PythonReader* reader;
    };
    const auto& step = reader.step();
    const auto type = step.fields[*staging::find_field(step, field)].type;
    ++views_;
    const nb::capsule owner(new Look{nb::borrow(self), this}, [](void* pointer) noexcept {
        const std::unique_ptr<Look> look(static_cast<Look*>(pointer));
        PythonReader& held = *look->reader;
        if (--held.views_ == 0 && held.leaving_)
            held.own_.reset();
    });
    return to_numpy(*found, type, owner);
}

bool PythonReader::verify(const std::string& field, std::uint32_t block) {
    auto& reader = get();
    const nb::gil_scoped_release unlock;
    bool right = false;
    keeping([&] { right = reader.verify(field, block); });
    return right;
}

void PythonReader::release() {
    auto& reader = get();
    check_views();
    const nb::gil_scoped_release unlock;
    reader.release();
}

void PythonReader::detach() {
    if (reader_ == nullptr || leaving_)
        return;
    leaving_ = true;
    (void)meet(true);
    if (views_ > 0)
        return;
    const nb::gil_scoped_release unlock;
    own_.reset();
    reader_ = nullptr;
}

void PythonReader::leave() {
    leaving_ = true;
    check_views();
}

void bind_staging_reader(nb::module_& module) {
    nb::class_<PythonReader>(module, "Reader")
        .def(
            "__init__",
            [](PythonReader* self, const std::string& contact,
               const std::optional<std::uintptr_t>& comm, const std::string& stream,
               double attach_limit, double answer_limit, int connections, bool verify,
               const std::string& secret, bool tls) {
                const auto options = options_of(stream, attach_limit, answer_limit, connections,
                                                verify, secret, tls);
                const nb::gil_scoped_release unlock;
                new (self) PythonReader(
                    std::make_unique<staging::Reader>(contact, communicator(comm), options),
                    communicator(comm));
            },
            "contact"_a, "comm"_a.none(), "stream"_a, "attach_limit"_a, "answer_limit"_a,
            "connections"_a, "verify"_a, "secret"_a, "tls"_a)
        .def_static(
            "from_source",
            [](nb::object source, const std::optional<std::uintptr_t>& comm, double answer_limit,
               bool verify) {
                auto options = options_of("", 60, answer_limit, 1, verify, "", false);
                auto made = std::make_unique<PythonSource>(std::move(source));
                const nb::gil_scoped_release unlock;
                return std::make_unique<PythonReader>(
                    std::make_unique<staging::Reader>(std::move(made), communicator(comm), options),
                    communicator(comm));
            },
            "source"_a, "comm"_a.none(), "answer_limit"_a, "verify"_a)
        .def("next", &PythonReader::next, "limit"_a)
        .def("step", &PythonReader::step)
        .def_prop_ro("sequence", &PythonReader::sequence)
        .def("read", &PythonReader::read, "field"_a, "box"_a, "to"_a)
        .def("read_block", &PythonReader::read_block, "field"_a, "block"_a, "with_ghosts"_a, "to"_a)
        .def(
            "view",
            [](nb::handle self, const std::string& field, std::uint32_t block) {
                return nb::cast<PythonReader&>(self).view(self, field, block);
            },
            "field"_a, "block"_a)
        .def("verify", &PythonReader::verify, "field"_a, "block"_a)
        .def("release", &PythonReader::release)
        .def("detach", &PythonReader::detach);
}

} // namespace uzushio::bindings
