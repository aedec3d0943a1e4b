#pragma once

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <exception>
#include <utility>

namespace uzushio::staging::socket {

/// Run a coroutine, whose waits must all end, and whatever else is under way on `io` meanwhile,
/// in this thread. What it throws, this throws.
template <class Result> Result run_until_done(asio::io_context& io, asio::awaitable<Result> work) {
    bool done = false;
    std::exception_ptr fault;
    Result result;
    asio::co_spawn(io, std::move(work), [&](std::exception_ptr thrown, Result returned) {
        done = true;
        fault = std::move(thrown);
        result = std::move(returned);
    });
    io.restart();
    while (!done)
        io.run_one();
    if (fault)
        std::rethrow_exception(fault);
    return result;
}

inline void run_until_done(asio::io_context& io, asio::awaitable<void> work) {
    bool done = false;
    std::exception_ptr fault;
    asio::co_spawn(io, std::move(work), [&](std::exception_ptr thrown) {
        done = true;
        fault = std::move(thrown);
    });
    io.restart();
    while (!done)
        io.run_one();
    if (fault)
        std::rethrow_exception(fault);
}

} // namespace uzushio::staging::socket
