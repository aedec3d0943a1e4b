#pragma once

#include <nanobind/nanobind.h>

#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "staging/interrupt.hpp"
#include "staging/notice.hpp"

namespace uzushio::bindings {

/// Exception of a signal's handler during `interruptible` on this thread, which raises it at its
/// end. Null outside of `interruptible`.
inline thread_local std::optional<nanobind::python_error>* raised_by_signal = nullptr;

/// Call `work` without Python's lock; Ctrl-C ends its long waits. The exception of the signal's
/// handler then replaces the result or exception of `work`. Notices of waits go to `sys.stderr`.
template <class Work> auto interruptible(Work&& work) -> std::invoke_result_t<Work> {
    using Result = std::invoke_result_t<Work>;
    std::optional<nanobind::python_error> raised;
    const auto asked = [&raised] {
        if (raised)
            return true;
        const nanobind::gil_scoped_acquire lock;
        if (PyErr_CheckSignals() != 0)
            raised.emplace();
        return raised.has_value();
    };
    struct Here {
        std::optional<nanobind::python_error>* outer;
        ~Here() { raised_by_signal = outer; }
    } here{std::exchange(raised_by_signal, &raised)};
    try {
        const nanobind::gil_scoped_release unlock;
        const staging::InterruptScope scope(asked);
        const staging::NoticeScope telling([](const std::string& sentence) {
            const nanobind::gil_scoped_acquire lock;
            PySys_FormatStderr("uzushio: %s\n", sentence.c_str());
        });
        if constexpr (std::is_void_v<Result>) {
            std::forward<Work>(work)();
            if (!raised)
                return;
        } else {
            Result result = std::forward<Work>(work)();
            if (!raised)
                return result;
        }
    } catch (...) {
        if (!asked()) // another rank may have ended the wait first
            throw;
    }
    throw std::move(*raised);
}

/// Call `work` as `interruptible` does, with `mutex` locked after Python's lock is released: calls
/// on one object are serialised, and a thread that waits for it does not block other objects.
template <class Work>
auto with_lock(std::recursive_mutex& mutex, Work&& work) -> std::invoke_result_t<Work> {
    return interruptible([&]() -> std::invoke_result_t<Work> {
        const std::lock_guard lock(mutex);
        return work();
    });
}

} // namespace uzushio::bindings
