#pragma once

#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "parallel/wait_hook.hpp"

namespace uzushio::staging::socket {

/// Group of coroutines that run to completion in this thread, with everything else that is
/// scheduled on `io`. An interrupt (`parallel::run_wait_hooks`) stops them first.
class TaskGroup {
  public:
    explicit TaskGroup(asio::io_context& io) : io_(io) {}
    TaskGroup(const TaskGroup&) = delete;
    TaskGroup& operator=(const TaskGroup&) = delete;

    /// `completed` receives the exception of the coroutine, if any, and may call `stop`.
    template <class Completed> void add(asio::awaitable<void> work, Completed completed) {
        ++running_;
        signals_.emplace_back();
        asio::co_spawn(io_, std::move(work),
                       asio::bind_cancellation_slot(
                           signals_.back().slot(),
                           [this, completed = std::move(completed)](std::exception_ptr fault) {
                               --running_;
                               completed(std::move(fault));
                           }));
    }
    /// Cancel all coroutines: their waits throw at once.
    void stop() {
        if (std::exchange(stopped_, true))
            return;
        ++running_; // keeps `run` waiting until the cancellation
        asio::post(io_, [this] {
            for (auto& signal : signals_)
                signal.emit(asio::cancellation_type::terminal);
            --running_;
        });
    }
    /// Run until all have ended. On an interrupt, `interrupted` is called once before they are
    /// stopped.
    template <class Interrupted> void run(Interrupted interrupted) {
        std::exception_ptr interrupt;
        auto next_check = std::chrono::steady_clock::now() + parallel::wait_hook_interval;
        io_.restart();
        while (running_ > 0) {
            io_.run_one_until(next_check);
            if (const auto now = std::chrono::steady_clock::now(); now >= next_check) {
                next_check = now + parallel::wait_hook_interval;
                if (!interrupt)
                    try {
                        parallel::run_wait_hooks();
                    } catch (...) {
                        interrupt = std::current_exception();
                        interrupted();
                        stop();
                    }
            }
        }
        if (interrupt)
            std::rethrow_exception(interrupt);
    }

  private:
    asio::io_context& io_;
    std::deque<asio::cancellation_signal> signals_; ///< a deque, because coroutines refer to them
    std::size_t running_ = 0;
    bool stopped_ = false;
};

/// Run a coroutine, whose waits must all end, and everything else on `io` in this thread. Throws
/// its exception; after an interrupt, that.
inline void run_until_done(asio::io_context& io, asio::awaitable<void> work) {
    std::exception_ptr fault;
    TaskGroup tasks(io);
    tasks.add(std::move(work), [&](std::exception_ptr thrown) { fault = std::move(thrown); });
    tasks.run([] {});
    if (fault)
        std::rethrow_exception(fault);
}

template <class Result>
    requires(!std::is_void_v<Result>)
Result run_until_done(asio::io_context& io, asio::awaitable<Result> work) {
    std::optional<Result> result;
    run_until_done(
        io, [](asio::awaitable<Result> inner, std::optional<Result>& to) -> asio::awaitable<void> {
            to.emplace(co_await std::move(inner));
        }(std::move(work), result));
    return std::move(*result);
}

} // namespace uzushio::staging::socket
