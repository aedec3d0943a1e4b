#include "bindings/staging_reader.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <functional>
#include <utility>

#include "bindings/mpi_handle.hpp"
#include "bindings/staging_python.hpp"
#include "bindings/unlocked.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/step_source.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

staging::Reader& PythonReader::get() const {
    if (reader_ == nullptr || detached_)
        throw staging::StagingError("The reader has detached; attach again to read on.");
    return *reader_;
}

/// Return why the step cannot be released while views exist; empty if there are none.
std::optional<std::string> PythonReader::refusal(int views) {
    if (views == 0)
        return {};
    return "The step cannot be released while " + std::to_string(views) +
           (views == 1 ? " array of view() refers" : " arrays of view() refer") +
           " to its memory: delete them first (`del`, or leave the function that holds them), or "
           "take copies with values().";
}

std::string PythonReader::next(double limit) {
    constexpr std::array<const char*, 4> names{"step", "timeout", "ended", "detached"};
    return with_lock(mutex_, [&, views = views_] {
        get().keep_step(refusal(views));
        return names[static_cast<std::size_t>(get().next(nanoseconds(limit)))];
    });
}

staging::StepInfo PythonReader::step() {
    return with_lock(mutex_, [&] { return get().step(); });
}

nb::object PythonReader::stored_steps() {
    const auto steps = with_lock(mutex_, [&] { return get().stored_steps(); });
    if (!steps)
        return nb::none();
    nb::list result;
    for (const auto& step : *steps)
        result.append(nb::make_tuple(step.sequence, step.index, step.time));
    return result;
}

std::uint64_t PythonReader::sequence() {
    return with_lock(mutex_, [&] { return get().sequence(); });
}

std::vector<staging::Box> PythonReader::read(const std::string& field, const staging::Box& wanted,
                                             const Target& to) {
    const auto view = values_of(to);
    return with_lock(mutex_, [&] { return get().read(field, wanted, view); });
}

void PythonReader::read_block(const std::string& field, std::uint32_t block, bool with_ghosts,
                              const Target& to, bool component_axis) {
    const auto view = values_of(to, component_axis);
    with_lock(mutex_, [&] { get().read_block(field, block, with_ghosts, view); });
}

void PythonReader::read_blocks(const std::string& field, const nb::dict& blocks, bool with_ghosts,
                               bool component_axis) {
    std::vector<staging::BlockTarget> targets;
    targets.reserve(blocks.size());
    for (const auto& [place, array] : blocks) // the dict keeps the memory
        targets.push_back(
            {nb::cast<std::uint32_t>(place), values_of(nb::cast<Target>(array), component_axis)});
    with_lock(mutex_, [&] { get().read_blocks(field, targets, with_ghosts); });
}

nb::object PythonReader::view(nb::handle self, const std::string& field, std::uint32_t block) {
    staging::ScalarType type{};
    ++views_; // before the step can be released
    std::optional<staging::ConstArrayView> view;
    try {
        view = with_lock(mutex_, [&] {
            auto& reader = get();
            const auto& step = reader.step();
            auto values = reader.view(field, block);
            if (values)
                type = step.fields[*staging::find_field(step, field)].type;
            return values;
        });
    } catch (...) {
        end_view();
        throw;
    }
    if (!view) {
        end_view();
        return nb::none();
    }
    struct ViewOwner {
        nb::object self;
        PythonReader* reader;
    };
    const nb::capsule owner(new ViewOwner{nb::borrow(self), this}, [](void* pointer) noexcept {
        const std::unique_ptr<ViewOwner> view_owner(static_cast<ViewOwner*>(pointer));
        view_owner->reader->end_view();
    });
    return to_numpy(*view, type, owner);
}

void PythonReader::end_view() noexcept {
    if (--views_ > 0 || !detached_)
        return;
    const nb::gil_scoped_release unlock;
    const std::lock_guard lock(mutex_);
    own_.reset();
    reader_ = nullptr;
}

nb::list PythonReader::take_replies() {
    nb::list result;
    for (const auto& reply : with_lock(mutex_, [&] { return get().take_replies(); }))
        result.append(nb::make_tuple(reply.number, valid_text(reply.text)));
    return result;
}

void PythonReader::release() {
    with_lock(mutex_, [&, views = views_] {
        get().keep_step(refusal(views));
        get().release();
    });
}

/// Called with `mutex_` held, without Python's lock.
template <class Detach> void PythonReader::detach_by(Detach&& detach, int views) {
    if (reader_ == nullptr || detached_.exchange(true))
        return;
    if (own_)
        detach(*own_);
    if (views > 0)
        return;
    own_.reset();
    reader_ = nullptr;
}

void PythonReader::detach() {
    with_lock(mutex_, [&, views = views_] {
        detach_by(std::mem_fn(&staging::Reader::agree_to_detach), views);
    });
}

void PythonReader::fail(const std::string& kind, const std::string& text) {
    const auto why = kind == "PeerGone"     ? std::make_exception_ptr(staging::PeerGone(text))
                     : kind == "PeerSilent" ? std::make_exception_ptr(staging::PeerSilent(text))
                                            : std::make_exception_ptr(staging::StagingError(text));
    const int views = views_;
    const nb::gil_scoped_release unlock;
    const std::lock_guard lock(mutex_);
    detach_by([&](staging::Reader& reader) { reader.abort(why); }, views);
}

void PythonReader::invalidate() {
    detached_ = true;
    if (const auto why = refusal(views_))
        throw staging::StagingError(*why);
}

void bind_staging_reader(nb::module_& module) {
    nb::class_<PythonReader>(module, "Reader")
        .def(
            "__init__",
            [](PythonReader* self, const std::string& contact,
               const std::optional<std::uintptr_t>& comm, const std::string& stream,
               double attach_limit, double answer_limit, int connections,
               const std::optional<bool>& verify, const std::string& secret, bool tls,
               bool latest_only) {
                const staging::ReaderOptions options{stream,
                                                     nanoseconds(attach_limit),
                                                     nanoseconds(answer_limit),
                                                     connections,
                                                     latest_only,
                                                     verify,
                                                     secret,
                                                     tls};
                auto reader = interruptible([&] {
                    return std::make_unique<staging::Reader>(contact, communicator(comm), options);
                });
                new (self) PythonReader(std::move(reader));
            },
            "contact"_a, "comm"_a.none(), "stream"_a, "attach_limit"_a, "answer_limit"_a,
            "connections"_a, "verify"_a.none(), "secret"_a, "tls"_a, "latest_only"_a)
        .def_static(
            "from_source",
            [](nb::object source, const std::optional<std::uintptr_t>& comm, double answer_limit,
               const std::optional<bool>& verify) {
                staging::ReaderOptions options;
                options.answer_limit = nanoseconds(answer_limit);
                options.verify = verify;
                auto made = std::make_unique<PythonSource>(std::move(source));
                return std::make_unique<PythonReader>(interruptible([&] {
                    return std::make_unique<staging::Reader>(std::move(made), communicator(comm),
                                                             options);
                }));
            },
            "source"_a, "comm"_a.none(), "answer_limit"_a, "verify"_a.none())
        .def_static(
            "at",
            [](std::uintptr_t address) {
                return std::make_unique<PythonReader>(
                    *reinterpret_cast<staging::Reader*>(address)); // NOLINT
            },
            "address"_a,
            "Return the reader of a step that this process publishes with engine inproc.")
        .def("invalidate", &PythonReader::invalidate)
        .def("next", &PythonReader::next, "limit"_a)
        .def("seek", calling<PythonReader>(&staging::Reader::seek), "sequence"_a)
        .def("step", &PythonReader::step)
        .def("stored_steps", &PythonReader::stored_steps)
        .def_prop_ro("sequence", &PythonReader::sequence)
        .def("read", &PythonReader::read, "field"_a, "box"_a, "to"_a)
        .def("read_block", &PythonReader::read_block, "field"_a, "block"_a, "with_ghosts"_a, "to"_a,
             "component_axis"_a)
        .def("read_blocks", &PythonReader::read_blocks, "field"_a, "blocks"_a, "with_ghosts"_a,
             "component_axis"_a)
        .def(
            "view",
            [](nb::handle self, const std::string& field, std::uint32_t block) {
                return nb::cast<PythonReader&>(self).view(self, field, block);
            },
            "field"_a, "block"_a)
        .def("verify", calling<PythonReader>(&staging::Reader::verify), "field"_a, "block"_a)
        .def("send", calling<PythonReader>(&staging::Reader::send), "text"_a)
        .def("take_replies", &PythonReader::take_replies)
        .def("release", &PythonReader::release)
        .def("detach", &PythonReader::detach)
        .def("fail", &PythonReader::fail, "kind"_a, "text"_a);
}

} // namespace uzushio::bindings
