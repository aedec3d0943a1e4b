#pragma once

#include <nanobind/nanobind.h>

#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "staging/interrupt.hpp"

namespace uzushio::bindings {

/// Call `work` without Python's lock, and let Ctrl-C end its long waits: what the signal's handler
/// raises then goes before what `work` throws.
template <class Work> auto interruptible(Work&& work) -> std::invoke_result_t<Work> {
    std::optional<nanobind::python_error> raised;
    const auto asked = [&raised] {
        const nanobind::gil_scoped_acquire lock;
        if (raised || PyErr_CheckSignals() == 0)
            return raised.has_value();
        raised.emplace();
        return true;
    };
    try {
        const nanobind::gil_scoped_release unlock;
        const staging::InterruptScope scope(asked);
        return std::forward<Work>(work)();
    } catch (...) {
        if (!raised)
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
