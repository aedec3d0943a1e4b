#include "capi/status.hpp"

#include <new>
#include <stdexcept>

#include "staging/queue/queue_timeout.hpp"

namespace uzushio::capi {
namespace {

/// Message of the last error on a thread; `fixed` is used if there is no memory for a copy.
struct Message {
    std::string copy;
    const char* fixed = "";
};

thread_local Message message;

void keep(const char* text) noexcept {
    try {
        message.copy = text;
        message.fixed = nullptr;
    } catch (...) {
        message.fixed = "There is not enough memory for this call and for its error message.";
    }
}

} // namespace

uz_status status_of(const std::exception_ptr& error) noexcept {
    const auto is = [](uz_status status, const std::exception& e) {
        keep(e.what());
        return status;
    };
    try {
        std::rethrow_exception(error);
    } catch (const ArgumentError& e) {
        return is(UZ_ERROR_ARGUMENT, e);
    } catch (const staging::PeerGone& e) {
        return is(UZ_ERROR_GONE, e);
    } catch (const staging::PeerSilent& e) {
        return is(UZ_ERROR_SILENT, e);
    } catch (const staging::QueueTimeout& e) {
        return is(UZ_ERROR_TIMEOUT, e);
    } catch (const staging::StagingError& e) {
        return is(UZ_ERROR_STAGING, e);
    } catch (const std::bad_alloc&) {
        message.fixed = "There is not enough memory for this call.";
        return UZ_ERROR_MEMORY;
    } catch (const std::invalid_argument& e) {
        return is(UZ_ERROR_ARGUMENT, e);
    } catch (const std::exception& e) {
        return is(UZ_ERROR_INTERNAL, e);
    } catch (...) {
        keep("An exception of unknown type was thrown.");
        return UZ_ERROR_INTERNAL;
    }
}

const char* last_message() noexcept {
    return message.fixed != nullptr ? message.fixed : message.copy.c_str();
}

} // namespace uzushio::capi
