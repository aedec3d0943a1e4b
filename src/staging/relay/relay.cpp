#include "staging/relay/relay.hpp"

#include <algorithm>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <new>
#include <utility>

#include "staging/home_path.hpp"
#include "staging/notice.hpp"
#include "staging/relay/splice.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/to_seconds.hpp"
#include "staging/transport/socket/handshake.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::relay {
namespace {

constexpr auto status_interval = std::chrono::milliseconds(100);
/// A waiting reader gets an error after this time, before its own timeout; it then requests again.
constexpr auto writer_timeout = std::chrono::milliseconds(500);
constexpr auto connect_timeout = std::chrono::seconds(10);
constexpr auto send_timeout = std::chrono::seconds(60);
constexpr auto final_message_timeout = std::chrono::seconds(1);
/// Intervals between checks for a writer that is missing, and for the end of one.
constexpr auto probe_interval = std::chrono::milliseconds(50);
constexpr auto late_probe_interval = std::chrono::milliseconds(250);
constexpr auto probe_timeout = std::chrono::seconds(2);
constexpr std::size_t min_bytes = std::size_t{1} << 20;

} // namespace

Relay::Relay(RelayOptions options, const parallel::CollectiveGroup& group)
    : options_(std::move(options)), group_(group), secret_(group.from_root(socket::make_secret)),
      budget_(options_.bytes) {
    options_.from = with_home(options_.from).string();
    options_.to = with_home(options_.to.string());
    group_.run_collectively([&] {
        require(options_.bytes >= min_bytes, "A relay needs a buffer of at least ", min_bytes >> 20,
                " MiB; it was given ", options_.bytes, " bytes.");
        std::error_code ignored;
        require(!std::filesystem::exists(options_.to, ignored) ||
                    !std::filesystem::equivalent(options_.from, options_.to, ignored),
                "The relay would write its contact over that of the writer, ", options_.to,
                ": give `to` another name.");
        ReaderOptions reader;
        reader.secret = options_.secret;
        reader.tls = options_.tls;
        upstream_.emplace(io_, options_.from, reader, secret_);
        if (const auto contact = upstream_->contact()) {
            status_.stream = contact->stream;
        }
        listener_.emplace(
            io_, options_.listen, secret_, hello(),
            [](const Hello& theirs) -> std::optional<Error> {
                if (theirs.role == Role::writer)
                    return Error{ErrorCode::protocol, "A writer cannot read from a relay."};
                return {};
            },
            [this](Peer peer, Hello theirs) { return serve(std::move(peer), std::move(theirs)); });
    });
    for (const auto& bytes : group_.gather(std::as_bytes(std::span(listener_->address()))))
        addresses_.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    group_.run_on_root([&] { publish_contact(); });
    listener_->start();
    stop_notice_.emplace(group_);
}

Relay::~Relay() { listener_->stop(); }

Hello Relay::hello() const {
    return {.role = Role::relay,
            .rank = static_cast<std::uint32_t>(group_.rank()),
            .ranks = static_cast<std::uint32_t>(group_.size()),
            .stream = status_.stream};
}

void Relay::publish_contact() {
    contact_.reset();
    contact_.emplace(options_.to, socket::Contact{status_.stream, "relay", addresses_.front(),
                                                  secret_, options_.listen.tls, 0, ""});
}

// ---- connections ------------------------------------------------------------------------------

asio::awaitable<void> Relay::serve(Peer peer, Hello theirs) {
    if (status_.connections >= budget_.max_pairs()) {
        const Error full{ErrorCode::limit, sentence("The relay forwards ", status_.connections,
                                                    " connections, the maximum for its memory.")};
        co_await send_error(peer, full);
        co_return;
    }
    ++status_.connections;
    std::optional<Error> error;
    try {
        if (theirs.channel == Channel::control) {
            co_await serve_control(peer, theirs);
        } else if (theirs.session != 0) { // zero: a probe of another relay

            const Peer up = co_await upstream_->data(theirs, socket::after(connect_timeout));
            co_await splice(io_, up, peer, budget_, status_.passed);
        }
    } catch (const socket::Refused& refused) {
        error = Error{refused.code(), refused.what()};
    } catch (const PeerGone& gone) {
        // The reader detects the writer's end by the end of its connection.
        if (theirs.channel == Channel::control)
            error = Error{ErrorCode::gone, gone.what()};
    } catch (const std::exception& fault) {
        error = Error{ErrorCode::internal, fault.what()};
    }
    --status_.connections;
    if (error)
        co_await send_error(peer, *error);
}

asio::awaitable<void> Relay::serve_control(Peer peer, Hello theirs) {
    if (group_.rank() != 0)
        throw socket::Refused(ErrorCode::request, "Readers attach to rank 0 of the relay.");
    const socket::WriterConnection writer =
        co_await upstream_->control(theirs, socket::after(writer_timeout));
    writer_seen_ = true;
    if (writer.hello.stream != status_.stream) {
        status_.stream = writer.hello.stream;
        listener_->set_stream(status_.stream);
        publish_contact();
    }
    const auto endpoints = encode(endpoints_for(writer));
    co_await peer->send(std::span<const std::byte>(endpoints), send_timeout);
    ++status_.readers;
    co_await splice(io_, writer.control, peer, budget_, status_.passed);
    --status_.readers;
}

/// Return the writer's endpoints with addresses of the relay. No reader shares the writer's node.
Endpoints Relay::endpoints_for(const socket::WriterConnection& writer) const {
    Endpoints endpoints;
    endpoints.session = writer.endpoints.session;
    for (std::size_t rank = 0; rank < writer.endpoints.ranks.size(); ++rank)
        endpoints.ranks.push_back({addresses_[rank % addresses_.size()], ""});
    return endpoints;
}

asio::awaitable<void> Relay::send_error(Peer peer, Error error) {
    const auto bytes = encode(error);
    try {
        co_await peer->send(std::span<const std::byte>(bytes), final_message_timeout);
        peer->shutdown_send();
        // Closing with unread requests would reset the connection before the answer arrives.
        asio::steady_timer pause(io_);
        for (const auto end = socket::after(final_message_timeout);;) {
            pause.expires_after(std::chrono::milliseconds(5));
            const socket::IoResult seen = peer->try_peek(budget_.buffer());
            if (seen.bytes > 0)
                peer->skip(seen.bytes);
            else if (seen.wait_for == socket::IoDirection::none || socket::Clock::now() >= end)
                break;
            else
                co_await pause.async_wait(asio::use_awaitable);
        }
    } catch (const StagingError&) { // the peer has closed before
    }
}

// ---- the whole --------------------------------------------------------------------------------

/// On rank 0: wait for the writer and, with `once`, for its end. The end is probed while no reader
/// is attached: a closed control channel may follow a reader's Detach as well.
asio::awaitable<void> Relay::watch_writer() {
    asio::steady_timer pause(io_);
    while (!writer_seen_ || (options_.once && !writer_ended_)) {
        if (!writer_seen_ || status_.readers == 0)
            try {
                co_await upstream_->probe(socket::after(probe_timeout));
                writer_seen_ = true;
            } catch (const PeerGone& gone) {
                writer_ended_ = writer_ended_ || writer_seen_;
                std::error_code ignored;
                refused_ = std::filesystem::exists(options_.from, ignored);
                obstacle_ = gone.what();
                if (refused_)
                    obstacle_ += " The contact file " + options_.from +
                                 " is of a writer that has probably ended.";
            } catch (
                const std::exception& fault) { // the writer is stopped, or is about to be replaced
                obstacle_ = fault.what();
            }
        pause.expires_after(writer_seen_ ? late_probe_interval : probe_interval);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

/// Print the obstacle once, and again when it changes; a refused connection at once.
void Relay::notify_waiting() {
    if (writer_seen_ || obstacle_ == notified_ ||
        (!refused_ && socket::Clock::now() < notice_time_))
        return;
    notified_ = obstacle_;
    notice(sentence("The relay waits for the writer",
                    (options_.once ? ", for up to " + to_seconds(options_.wait) : std::string()),
                    ". ", obstacle_));
}

void Relay::serve_for(std::chrono::nanoseconds time) {
    const auto end = socket::after(time);
    do {
        io_.restart();
        try {
            io_.run_until(end);
            return;
        } catch (const std::bad_alloc&) { // no memory for a coroutine: the others continue
        }
    } while (socket::Clock::now() < end);
}

void Relay::run(const std::function<bool()>& keep_running) {
    const bool first = group_.rank() == 0;
    notice_time_ = socket::after(std::chrono::seconds(2));
    const socket::Deadline deadline = socket::after(options_.wait);
    if (first)
        asio::co_spawn(io_, watch_writer(), asio::detached);
    bool more = true;
    bool no_writer = false;
    while (more) {
        serve_for(status_interval);
        status_.held = budget_.held();
        status_.max_held = std::max(status_.max_held, status_.held);
        more = keep_running() && !stop_notice_->received();
        if (first)
            notify_waiting();
        if (first && options_.once) {
            // Bytes in transit to readers still arrive.
            more = more && !(writer_ended_ && status_.readers == 0);
            no_writer = more && !writer_seen_ && socket::Clock::now() >= deadline;
            more = more && !no_writer;
        }
    }
    stop_notice_->send();
    if (no_writer)
        throw PeerGone("No writer was found within " + to_seconds(options_.wait) + ". " +
                       obstacle_ + " Start the writer, or raise --wait.");
}

} // namespace uzushio::staging::relay
