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
#include "staging/interrupt.hpp"

namespace uzushio::staging::socket {

/// Coroutines that are run to their end in this thread, together with whatever else is under way on
/// `io`. An interrupt, or what else `parallel::run_wait_hooks` throws, stops them first.
class Crew {
  public:
    explicit Crew(asio::io_context& io) : io_(io) {}
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    /// `over` takes what the coroutine threw, if anything, and may call `stop`.
    template <class Over> void add(asio::awaitable<void> work, Over over) {
        ++working_;
        signals_.emplace_back();
        asio::co_spawn(
            io_, std::move(work),
            asio::bind_cancellation_slot(signals_.back().slot(),
                                         [this, over = std::move(over)](std::exception_ptr fault) {
                                             --working_;
                                             over(std::move(fault));
                                         }));
    }
    /// All that is under way is to end: its waits throw, at once.
    void stop() {
        if (std::exchange(stopped_, true))
            return;
        ++working_; // none of them ends before it was told
        asio::post(io_, [this] {
            for (auto& signal : signals_)
                signal.emit(asio::cancellation_type::terminal);
            --working_;
        });
    }
    /// Until all have ended. `interrupted` is called, once, before they are stopped.
    template <class Interrupted> void run(Interrupted interrupted) {
        std::exception_ptr interrupt;
        auto look = std::chrono::steady_clock::now() + parallel::wait_hook_interval;
        io_.restart();
        while (working_ > 0) {
            io_.run_one_until(look);
            if (const auto now = std::chrono::steady_clock::now(); now >= look) {
                look = now + parallel::wait_hook_interval;
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
    std::deque<asio::cancellation_signal> signals_; ///< where they are: coroutines refer to them
    std::size_t working_ = 0;
    bool stopped_ = false;
};

/// Run a coroutine, whose waits must all end, and whatever else is under way on `io` meanwhile,
/// in this thread. What it throws, this throws; after an interrupt, that.
inline void run_until_done(asio::io_context& io, asio::awaitable<void> work) {
    std::exception_ptr fault;
    Crew crew(io);
    crew.add(std::move(work), [&](std::exception_ptr thrown) { fault = std::move(thrown); });
    crew.run([] {});
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
