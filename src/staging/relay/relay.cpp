#include "staging/relay/relay.hpp"

#include <algorithm>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "staging/home_path.hpp"
#include "staging/in_seconds.hpp"
#include "staging/notice.hpp"
#include "staging/relay/allowance.hpp"
#include "staging/relay/ending.hpp"
#include "staging/relay/joint.hpp"
#include "staging/relay/upstream.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/socket/contact.hpp"
#include "staging/transport/socket/handshake.hpp"
#include "staging/transport/socket/listener.hpp"
#include "staging/transport/socket/secret.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::relay {
namespace {

using socket::Connection;
using Peer = std::shared_ptr<Connection>;

constexpr auto tick = std::chrono::milliseconds(100);
/// A reader that waits for a writer is told so before it takes the relay for silent, and asks again
/// as long as it likes.
constexpr auto writer_limit = std::chrono::milliseconds(500);
constexpr auto dial_limit = std::chrono::seconds(10);
constexpr auto taking_limit = std::chrono::seconds(60);
constexpr auto farewell_limit = std::chrono::seconds(1);
/// Between two looks for a writer that is not there yet, and for the end of one.
constexpr auto between_looks = std::chrono::milliseconds(50);
constexpr auto between_late_looks = std::chrono::milliseconds(250);
constexpr auto look_limit = std::chrono::seconds(2);
constexpr std::size_t least_bytes = std::size_t{1} << 20;

ReaderOptions upstream_options(const RelayOptions& options) {
    ReaderOptions reader;
    reader.secret = options.secret;
    reader.tls = options.tls;
    return reader;
}

std::vector<std::byte> to_bytes(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

std::string to_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Rank 0's, on all.
socket::Secret shared_secret(const parallel::CollectiveGroup& group) {
    std::vector<std::byte> bytes;
    group.run_collectively([&] {
        if (group.rank() == 0) {
            const socket::Secret secret = socket::make_secret();
            bytes.assign(secret.begin(), secret.end());
        }
    });
    bytes = group.broadcast(std::move(bytes));
    socket::Secret secret{};
    std::copy_n(bytes.begin(), secret.size(), secret.begin());
    return secret;
}

} // namespace

class Relay::Core {
  public:
    Core(RelayOptions options, const parallel::CollectiveGroup& group);
    ~Core();

    void run(const std::function<bool()>& go_on);
    [[nodiscard]] RelayStatus status() const;

  private:
    [[nodiscard]] Hello hello() const;
    [[nodiscard]] asio::awaitable<void> serve(Peer peer, Hello theirs);
    [[nodiscard]] asio::awaitable<void> serve_control(Peer peer, Hello theirs);
    [[nodiscard]] asio::awaitable<void> say(Peer peer, Error error);
    [[nodiscard]] Endpoints places_for(const socket::Meeting& writer) const;
    [[nodiscard]] asio::awaitable<void> look_for_writer();
    void tell_what_is_missing();
    void serve_for(std::chrono::nanoseconds time);
    void publish_contact();

    RelayOptions options_;
    const parallel::CollectiveGroup& group_;
    socket::Secret secret_;
    RelayStatus status_;
    bool writer_ended_ = false;
    bool saw_writer_ = false;
    bool refused_ = false;       ///< the last connection to the contact was refused
    std::string missing_, told_; ///< why there is no writer yet
    socket::Deadline quiet_until_{};
    std::vector<std::string> addresses_; ///< of the relay's ranks, on rank 0
    asio::io_context io_{1};             ///< outlives all connections
    Allowance allowance_;
    std::optional<Upstream> upstream_;
    std::optional<socket::Listener> listener_;
    std::optional<socket::PublishedContact> contact_;
    std::optional<Ending> ending_;
};

Relay::Core::Core(RelayOptions options, const parallel::CollectiveGroup& group)
    : options_(std::move(options)), group_(group), secret_(shared_secret(group)),
      allowance_(options_.bytes) {
    options_.from = with_home(options_.from).string();
    options_.to = with_home(options_.to.string());
    group_.run_collectively([&] {
        if (options_.bytes < least_bytes)
            throw StagingError("A relay needs at least " + std::to_string(least_bytes >> 20) +
                               " MiB to hold bytes in; it was given " +
                               std::to_string(options_.bytes) + " bytes.");
        std::error_code ignored;
        if (std::filesystem::exists(options_.to, ignored) &&
            std::filesystem::equivalent(options_.from, options_.to, ignored))
            throw StagingError("The relay would write its contact over that of the writer, " +
                               options_.to.string() + ": give `to` another name.");
        upstream_.emplace(io_, options_.from, upstream_options(options_), secret_);
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
    for (const auto& bytes : group_.gather(to_bytes(listener_->address())))
        addresses_.push_back(to_text(bytes));
    group_.run_collectively([&] {
        if (group_.rank() == 0)
            publish_contact();
    });
    listener_->start();
    ending_.emplace(group_);
}

Relay::Core::~Core() { listener_->stop(); }

Hello Relay::Core::hello() const {
    Hello hello;
    hello.role = Role::relay;
    hello.rank = static_cast<std::uint32_t>(group_.rank());
    hello.ranks = static_cast<std::uint32_t>(group_.size());
    hello.stream = status_.stream;
    return hello;
}

void Relay::Core::publish_contact() {
    contact_.reset();
    contact_.emplace(options_.to, socket::Contact{status_.stream, "relay", addresses_.front(),
                                                  secret_, options_.listen.tls, 0, ""});
}

// ---- connections ------------------------------------------------------------------------------

asio::awaitable<void> Relay::Core::serve(Peer peer, Hello theirs) {
    if (status_.connections >= allowance_.most_pairs()) {
        const Error full{ErrorCode::limit,
                         "The relay joins " + std::to_string(status_.connections) +
                             " connections, which is all that it has memory for."};
        co_await say(peer, full);
        co_return;
    }
    ++status_.connections;
    std::optional<Error> error;
    try {
        if (theirs.channel == Channel::control) {
            co_await serve_control(peer, theirs);
        } else if (theirs.session != 0) { // else another relay sees whether we are there

            const Peer up = co_await upstream_->data(theirs, socket::after(dial_limit));
            (void)co_await join(io_, up, peer, allowance_, status_.passed);
        }
    } catch (const socket::Refused& refused) {
        error = Error{refused.code(), refused.what()};
    } catch (const PeerGone& gone) {
        // A reader asks for data of a writer that is there no more: it is to see just that.
        if (theirs.channel == Channel::control)
            error = Error{ErrorCode::gone, gone.what()};
    } catch (const std::exception& fault) {
        error = Error{ErrorCode::internal, fault.what()};
    }
    --status_.connections;
    if (error)
        co_await say(peer, *error);
}

asio::awaitable<void> Relay::Core::serve_control(Peer peer, Hello theirs) {
    if (group_.rank() != 0)
        throw socket::Refused(ErrorCode::request, "Readers attach to rank 0 of the relay.");
    const socket::Meeting writer = co_await upstream_->control(theirs, socket::after(writer_limit));
    saw_writer_ = true;
    if (writer.writer.stream != status_.stream) {
        status_.stream = writer.writer.stream;
        listener_->rename(status_.stream);
        publish_contact();
    }
    const auto places = encode(places_for(writer));
    co_await peer->send(std::span<const std::byte>(places), taking_limit);
    ++status_.readers;
    const Stream first = co_await join(io_, writer.control, peer, allowance_, status_.passed);
    --status_.readers;
    writer_ended_ = writer_ended_ || first == Stream::up;
}

/// Where readers reach the writer's ranks: here. Nobody is on the writer's node.
Endpoints Relay::Core::places_for(const socket::Meeting& writer) const {
    Endpoints places;
    places.session = writer.endpoints.session;
    for (std::size_t rank = 0; rank < writer.endpoints.ranks.size(); ++rank)
        places.ranks.push_back({addresses_[rank % addresses_.size()], ""});
    return places;
}

asio::awaitable<void> Relay::Core::say(Peer peer, Error error) {
    const auto bytes = encode(error);
    try {
        co_await peer->send(std::span<const std::byte>(bytes), farewell_limit);
        peer->finish();
        // To close with requests unread would cut the answer off on its way.
        asio::steady_timer pause(io_);
        for (const auto end = socket::after(farewell_limit);;) {
            pause.expires_after(std::chrono::milliseconds(5));
            const socket::Transfer seen = peer->try_peek(allowance_.buffer());
            if (seen.bytes > 0)
                peer->skip(seen.bytes);
            else if (seen.want == socket::Want::nothing || socket::Clock::now() >= end)
                break;
            else
                co_await pause.async_wait(asio::use_awaitable);
        }
    } catch (const StagingError&) { // it has gone before
    }
}

// ---- the whole --------------------------------------------------------------------------------

/// On rank 0: see the writer come and, with `once`, end; the latter while no reader would.
asio::awaitable<void> Relay::Core::look_for_writer() {
    asio::steady_timer pause(io_);
    while (!saw_writer_ || (options_.once && !writer_ended_)) {
        if (!saw_writer_ || status_.readers == 0)
            try {
                co_await upstream_->probe(socket::after(look_limit));
                saw_writer_ = true;
            } catch (const PeerGone& gone) {
                writer_ended_ = writer_ended_ || saw_writer_;
                std::error_code ignored;
                refused_ = std::filesystem::exists(options_.from, ignored);
                missing_ = gone.what();
                if (refused_)
                    missing_ += " The contact file " + options_.from +
                                " is of a writer that has probably ended.";
            } catch (const std::exception& fault) { // it is stopped, or is about to be replaced
                missing_ = fault.what();
            }
        pause.expires_after(saw_writer_ ? between_late_looks : between_looks);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

/// Once, and again when it is something else: a refused connection at once.
void Relay::Core::tell_what_is_missing() {
    if (saw_writer_ || missing_ == told_ || (!refused_ && socket::Clock::now() < quiet_until_))
        return;
    told_ = missing_;
    notice("The relay waits for the writer" +
           (options_.once ? ", for up to " + in_seconds(options_.wait) : std::string()) + ". " +
           missing_);
}

void Relay::Core::serve_for(std::chrono::nanoseconds time) {
    const auto end = socket::after(time);
    do {
        io_.restart();
        try {
            io_.run_until(end);
            return;
        } catch (const std::bad_alloc&) { // for a coroutine: the others go on
        }
    } while (socket::Clock::now() < end);
}

void Relay::Core::run(const std::function<bool()>& go_on) {
    const bool first = group_.rank() == 0;
    quiet_until_ = socket::after(std::chrono::seconds(2));
    const socket::Deadline deadline = socket::after(options_.wait);
    if (first)
        asio::co_spawn(io_, look_for_writer(), asio::detached);
    bool more = true;
    bool nobody_came = false;
    while (more) {
        serve_for(tick);
        status_.held = allowance_.held();
        status_.most_held = std::max(status_.most_held, status_.held);
        more = go_on() && !ending_->announced();
        if (first)
            tell_what_is_missing();
        if (first && options_.once) {
            // What is on its way to readers still gets there.
            more = more && !(writer_ended_ && status_.readers == 0);
            nobody_came = more && !saw_writer_ && socket::Clock::now() >= deadline;
            more = more && !nobody_came;
        }
    }
    ending_->announce();
    if (nobody_came)
        throw PeerGone("No writer was there within " + in_seconds(options_.wait) + ". " + missing_ +
                       " Start the writer, or say --wait.");
}

RelayStatus Relay::Core::status() const { return status_; }

Relay::Relay(RelayOptions options, const parallel::CollectiveGroup& group)
    : core_(std::make_unique<Core>(std::move(options), group)) {}

Relay::~Relay() = default;

void Relay::run(const std::function<bool()>& go_on) { core_->run(go_on); }

RelayStatus Relay::status() const { return core_->status(); }

} // namespace uzushio::staging::relay
