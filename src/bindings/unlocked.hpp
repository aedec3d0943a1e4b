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

/// What a signal's handler raised while this thread was in `interruptible`, which raises it in the
/// end. Null outside.
inline thread_local std::optional<nanobind::python_error>* raised_by_signal = nullptr;

/// Call `work` without Python's lock, and let Ctrl-C end its long waits: what the signal's handler
/// raises then goes before what `work` throws or returns. What waits tell goes to `sys.stderr`.
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
        if (!asked()) // the other ranks may have been quicker to end it
            throw;
    }
    throw std::move(*raised);
}

/// The same, holding `mutex`, which is taken after Python's lock is given away: threads that share
/// an object take turns, and those that wait do not stop the others.
template <class Work>
auto in_turn(std::recursive_mutex& mutex, Work&& work) -> std::invoke_result_t<Work> {
    return interruptible([&]() -> std::invoke_result_t<Work> {
        const std::lock_guard turn(mutex);
        return work();
    });
}

} // namespace uzushio::bindings
