#pragma once

#include <exception>

namespace uzushio::staging {

/// Run `work`, and return the exception that it throws; null if it throws none.
template <class Work> [[nodiscard]] std::exception_ptr exception_of(Work&& work) {
    try {
        work();
        return nullptr;
    } catch (...) {
        return std::current_exception();
    }
}

} // namespace uzushio::staging
