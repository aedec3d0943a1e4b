#include "bindings/staging_python.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <utility>

#include "bindings/staging.hpp"
#include "bindings/unlocked.hpp"
#include "staging/staging_error.hpp"

namespace nb = nanobind;

namespace uzushio::bindings {

namespace {

[[noreturn]] void rethrow(nb::python_error& error) {
    if (raised_by_signal != nullptr && !error.matches(PyExc_Exception)) {
        raised_by_signal->emplace(std::move(error));
        throw staging::Interrupted("The wait was interrupted.");
    }
    const nb::object errors = nb::module_::import_("uzushio.errors");
    const std::string text = nb::cast<std::string>(nb::str(error.value()));
    if (error.matches(errors.attr("PeerGone")))
        throw staging::PeerGone(text);
    if (error.matches(errors.attr("PeerSilent")))
        throw staging::PeerSilent(text);
    if (error.matches(errors.attr("WaitStopped")))
        throw staging::WaitStopped(text);
    if (error.matches(errors.attr("StagingError")))
        throw staging::StagingError(text);
    throw staging::StagingError(error.what());
}

} // namespace

void with_python(const std::function<void()>& work) {
    const nb::gil_scoped_acquire lock;
    try {
        work();
    } catch (nb::python_error& error) {
        rethrow(error);
    }
}

void drop(nb::object& object) {
    if (!nb::is_alive()) {
        object.release();
        return;
    }
    const nb::gil_scoped_acquire lock;
    object.reset();
}

nb::str valid_text(const std::string& text) {
    PyObject* decoded =
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
    if (decoded == nullptr)
        nb::raise_python_error();
    return nb::steal<nb::str>(decoded);
}

PythonEngine::~PythonEngine() { drop(engine_); }

std::optional<std::uint64_t> PythonEngine::publish(staging::LocalStep step) {
    std::optional<std::uint64_t> sequence;
    with_python([&] {
        nb::list values;
        auto value = step.values.begin();
        for (const auto& block : step.part.blocks)
            for (const auto& array : block.arrays)
                values.append(to_numpy(*value++, step.part.fields[array.field].type, nb::none()));
        const nb::object result =
            engine_.attr("publish")(nb::cast(std::move(step.part)), std::move(values));
        if (!result.is_none())
            sequence = nb::cast<std::uint64_t>(result);
    });
    return sequence;
}

void PythonEngine::abandon() { drop(engine_); }

void PythonEngine::close() {
    with_python([&] { engine_.attr("close")(); });
}

staging::QueueCounters PythonEngine::counters() const {
    staging::QueueCounters counters;
    if (!engine_.is_valid())
        return counters; // abandoned
    with_python([&] {
        const nb::object values = engine_.attr("counters")();
        counters.published = nb::cast<std::uint64_t>(values.attr("published"));
        counters.delivered = nb::cast<std::uint64_t>(values.attr("delivered"));
        counters.dropped = nb::cast<std::uint64_t>(values.attr("dropped"));
        counters.seconds_waited = nb::cast<double>(values.attr("seconds_waited"));
        counters.peak_bytes = nb::cast<std::size_t>(values.attr("peak_bytes"));
        counters.bytes = nb::cast<std::size_t>(values.attr("bytes"));
        counters.steps = nb::cast<std::size_t>(values.attr("steps"));
    });
    return counters;
}

PythonSource::~PythonSource() {
    if (nb::is_alive()) {
        const nb::gil_scoped_acquire lock;
        try {
            source_.attr("close")();
        } catch (nb::python_error& error) {
            error.discard_as_unraisable("Source.close");
        }
    }
    drop(source_);
}

bool PythonSource::collective() const {
    bool result = false;
    with_python(
        [&] { result = nb::cast<bool>(nb::getattr(source_, "collective", nb::bool_(false))); });
    return result;
}

staging::AnnouncedStep PythonSource::next(std::chrono::nanoseconds limit) {
    staging::AnnouncedStep result;
    with_python([&] {
        const nb::object next_step = source_.attr("next")(seconds(limit));
        if (nb::isinstance<nb::bytes>(next_step)) {
            const auto bytes = nb::cast<nb::bytes>(next_step);
            const auto* first = static_cast<const std::byte*>(bytes.data());
            result.status = staging::StepStatus::step;
            result.message =
                std::make_shared<const std::vector<std::byte>>(first, first + bytes.size());
        } else {
            const bool timeout = nb::cast<std::string>(next_step) == "timeout";
            result.status = timeout ? staging::StepStatus::timeout : staging::StepStatus::ended;
        }
    });
    return result;
}

void PythonSource::begin(const staging::Announce& step) {
    with_python([&] { source_.attr("begin")(step.sequence, nb::cast(step.step)); });
}

void PythonSource::fetch(const staging::Announce& step, std::span<const staging::Fetch> wanted,
                         std::chrono::nanoseconds limit) {
    with_python([&] {
        nb::list pieces;
        for (const auto& fetch : wanted) {
            const auto& request = fetch.request;
            const auto& array = step.step.blocks[request.block].arrays[request.array];
            const auto type = step.step.fields[array.field].type;
            pieces.append(nb::make_tuple(fetch.rank, request.block, request.array, request.source,
                                         request.first_component, request.components,
                                         to_numpy(fetch.to, type, nb::none())));
        }
        source_.attr("fetch")(step.sequence, std::move(pieces), seconds(limit));
    });
}

void PythonSource::end(const staging::Announce& step) {
    with_python([&] { source_.attr("end")(step.sequence); });
}

void PythonSource::release(std::uint64_t sequence) {
    with_python([&] { source_.attr("release")(sequence); });
}

} // namespace uzushio::bindings
