#pragma once

#include <exception>
#include <string>
#include <utility>

#include "staging/staging_error.hpp"
#include "uzushio/uzushio.h"

namespace uzushio::capi {

/// A null pointer or a number that is not allowed.
class ArgumentError : public staging::StagingError {
  public:
    using StagingError::StagingError;
};

/// The status that an exception stands for. Its text becomes this thread's uz_error_message.
uz_status status_of(const std::exception_ptr& error) noexcept;

/// The text of what failed last on this thread.
[[nodiscard]] const char* last_message() noexcept;

/// Do what may throw, for a caller to whom nothing may be thrown.
template <class Work> uz_status guarded(Work&& work) noexcept {
    try {
        std::forward<Work>(work)();
        return UZ_OK;
    } catch (...) {
        return status_of(std::current_exception());
    }
}

} // namespace uzushio::capi
