#pragma once

#include <exception>
#include <utility>

#include "staging/staging_error.hpp"
#include "uzushio/uzushio.h"

namespace uzushio::capi {

/// Null pointer or invalid number.
class ArgumentError : public staging::StagingError {
  public:
    using StagingError::StagingError;
};

/// Return the status of an exception. Its text becomes this thread's uz_error_message.
uz_status status_of(const std::exception_ptr& error) noexcept;

/// Return the message of the last error on this thread.
[[nodiscard]] const char* last_message() noexcept;

/// Run `work` and return its status; no exception passes through.
template <class Work> uz_status guarded(Work&& work) noexcept {
    try {
        std::forward<Work>(work)();
        return UZ_OK;
    } catch (...) {
        return status_of(std::current_exception());
    }
}

} // namespace uzushio::capi
