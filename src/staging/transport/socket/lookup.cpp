#include "staging/transport/socket/lookup.hpp"

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <atomic>
#include <memory>
#include <string>

#include "staging/quiet_thread.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging::socket {
namespace {

using asio::ip::tcp;

/// What the thread finds; whoever needs it last keeps it.
struct Found {
    asio::error_code fault;
    std::vector<tcp::endpoint> endpoints;
    std::atomic<bool> done = false;
};

void find(const Address& address, Found& found) {
    try {
        asio::io_context io;
        tcp::resolver resolver(io);
        const auto entries = resolver.resolve(address.host, std::to_string(address.port),
                                              tcp::resolver::numeric_service, found.fault);
        for (const auto& entry : entries)
            found.endpoints.push_back(entry.endpoint());
    } catch (const std::exception&) {
        found.fault = asio::error::no_memory;
    }
    found.done = true;
}

} // namespace

asio::awaitable<std::vector<tcp::endpoint>> look_up(Address address, Deadline deadline) {
    asio::error_code fault;
    const auto number = asio::ip::make_address(address.host, fault);
    if (!fault)
        co_return std::vector<tcp::endpoint>{{number, address.port}};

    const auto found = std::make_shared<Found>();
    quiet_thread([address, found] { find(address, *found); }).detach();
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (auto pause = std::chrono::milliseconds(1); !found->done;
         pause = std::min(2 * pause, std::chrono::milliseconds(50))) {
        if (Clock::now() >= deadline)
            throw PeerGone("Nobody told in time where the host " + address.host +
                           " is: look at this machine's name servers, or give its number.");
        timer.expires_after(pause);
        co_await timer.async_wait(asio::use_awaitable);
    }
    if (found->fault)
        throw PeerGone("There is no host " + address.host + " (" + found->fault.message() + ").");
    co_return found->endpoints;
}

} // namespace uzushio::staging::socket
