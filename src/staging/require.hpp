#pragma once

#include <concepts>

namespace uzushio::staging {

/// Check that throws `Error` with a message. For checks of each block of a step, pass a function
/// that returns the message: strings cost more than the checks.
template <class Error> struct Require {
    template <class Message> void operator()(bool holds, const Message& message) const {
        if (holds)
            return;
        if constexpr (std::invocable<const Message&>)
            throw Error(message());
        else
            throw Error(message);
    }
};

} // namespace uzushio::staging
