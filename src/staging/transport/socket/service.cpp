#include "staging/transport/socket/service.hpp"

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <utility>

#include "parallel/wait_hook.hpp"
#include "staging/datamodel/model_error.hpp"
#include "staging/require.hpp"
#include "staging/signal_blocked_thread.hpp"
#include "staging/staging_error.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

/// Time for the rest of a message after its first byte, and for a peer to read some of the sent
/// bytes.
constexpr auto message_timeout = std::chrono::seconds(5);
constexpr auto send_timeout = std::chrono::seconds(60);
constexpr auto final_message_timeout = std::chrono::seconds(1);

constexpr std::size_t max_stream_name = 200; ///< fits into DecodeLimits::handshake()

/// Requests are small; commands have a text.
constexpr DecodeLimits request_limits{4096, 16384, Command::max_text, 16};

} // namespace

SocketService::SocketService(WriterRank rank, const Secret& secret,
                             const EngineOptions::Tcp& options, const HeldSteps& held, Queue* queue)
    : rank_(std::move(rank)), held_(held), queue_(queue),
      listener_(
          io_, options, secret, hello(),
          [this](const Hello& theirs) { return check_admission(theirs); },
          [this](Peer peer, Hello theirs) { return serve(std::move(peer), std::move(theirs)); }) {
    if (rank_.rank != 0)
        listener_.start();
    thread_ = start_signal_blocked_thread([this] { run(); });
    if (queue_ != nullptr)
        queue_->on_change([this] { on_queue_event(); });
}

SocketService::~SocketService() { stop(); }

void SocketService::run() {
    for (;;)
        try {
            io_.run();
            return;
        } catch (const std::exception&) { // no memory for a coroutine: the others continue
        }
}

void SocketService::stop() {
    if (!thread_.joinable())
        return;
    if (queue_ != nullptr)
        queue_->on_change({});
    io_.stop();
    thread_.join();
    listener_.stop();
    for (const auto& control : controls_)
        control->connection->close();
    controls_.clear();
}

Endpoint SocketService::endpoint() const { return {listener_.address(), rank_.node}; }

void SocketService::open(const Endpoints& all) {
    asio::post(io_, [this, all] {
        all_ = all;
        if (rank_.rank == 0)
            listener_.start();
    });
}

void SocketService::close(std::chrono::nanoseconds limit) {
    if (!thread_.joinable())
        return;
    struct Stop { // also after an interrupt
        SocketService& service;
        ~Stop() { service.stop(); }
    } stops{*this};
    auto all_detached = all_detached_.get_future();
    asio::post(io_, [this] {
        closing_ = true;
        listener_.stop();
        for (const auto& control : std::set(controls_))
            send_next(control);
        if (controls_.empty())
            all_detached_.set_value();
    });
    const Deadline end = after(limit);
    while (all_detached.wait_until(std::min(end, Clock::now() + parallel::wait_hook_interval)) !=
               std::future_status::ready &&
           Clock::now() < end)
        parallel::run_wait_hooks();
}

Hello SocketService::hello() const {
    require(rank_.stream.size() <= max_stream_name, "The name of a stream has at most ",
            max_stream_name, " bytes; the one given has ", rank_.stream.size(), ".");
    return {.role = Role::writer,
            .rank = rank_.rank,
            .ranks = rank_.ranks,
            .target = rank_.rank,
            .stream = rank_.stream};
}

std::optional<Error> SocketService::check_admission(const Hello& theirs) const {
    if (!theirs.stream.empty() && theirs.stream != rank_.stream)
        return Error{ErrorCode::request,
                     "The stream here is \"" + rank_.stream + "\", not \"" + theirs.stream + "\"."};
    const std::uint32_t target = theirs.channel == Channel::control ? 0 : theirs.target;
    if (target != rank_.rank)
        return Error{ErrorCode::request,
                     sentence("Here is rank ", rank_.rank, " of the writer, not rank ", target,
                              ": another process uses its port; attach again.")};
    if (theirs.role == Role::writer)
        return Error{ErrorCode::protocol, "A writer cannot read from a writer."};
    return {};
}

asio::awaitable<void> SocketService::serve(Peer peer, Hello theirs) {
    if (theirs.channel == Channel::control)
        co_await serve_control(std::move(peer));
    else
        co_await serve_data(std::move(peer));
}

// ---- announcements ------------------------------------------------------------------------------

asio::awaitable<void> SocketService::serve_control(Peer peer) {
    const auto endpoints = encode(all_);
    // In the queue before the reader's attach returns: it gets the steps that follow.
    const auto control = std::make_shared<ControlConnection>(peer, *queue_);
    controls_.insert(control);
    std::optional<Error> error;
    try {
        control->writing = true;
        co_await peer->send(std::span<const std::byte>(endpoints), send_timeout);
        control->writing = false;
        error = co_await receive_requests(control);
    } catch (const DecodeError& fault) {
        error = Error{ErrorCode::protocol, fault.what()};
    } catch (const std::exception&) { // closed, or silent in the middle of a message
    }
    controls_.erase(control);
    control->session.reset();
    if (error && !control->writing) {
        const auto bytes = encode(*error);
        try {
            co_await peer->send(std::span<const std::byte>(bytes), final_message_timeout);
            co_await drain(peer);
        } catch (const StagingError&) { // the reader has closed before
        }
    }
    peer->close();
    if (closing_ && controls_.empty())
        all_detached_.set_value();
}

/// Return the reader's protocol error; throw PeerGone when it has detached.
asio::awaitable<Error> SocketService::receive_requests(std::shared_ptr<ControlConnection> control) {
    send_next(control);
    for (;;) {
        const ReceivedMessage received =
            co_await control->connection->receive(request_limits, never, message_timeout);
        const bool ended =
            control->session->finished(); // End was sent; this message is from before
        if (!ended) {
            if (const auto error = control->session->receive(received.message(request_limits)))
                co_return *error;
            if (control->session->finished())
                throw PeerGone("The reader has closed its connection.");
        }
        send_next(control);
        co_await asio::post(io_, asio::use_awaitable); // let other coroutines run
    }
}

/// Send the next message to a reader, unless one is being sent.
void SocketService::send_next(const std::shared_ptr<ControlConnection>& control) {
    if (control->writing || !control->session)
        return;
    SharedBytes bytes = control->session->poll();
    if (!bytes && closing_)
        bytes = control->session->end();
    if (!bytes)
        return;
    control->writing = true;
    asio::co_spawn(io_, send_to_reader(control, std::move(bytes)), asio::detached);
}

asio::awaitable<void> SocketService::send_to_reader(std::shared_ptr<ControlConnection> control,
                                                    SharedBytes bytes) {
    try {
        co_await control->connection->send(std::span<const std::byte>(*bytes), send_timeout);
        control->writing = false;
        if (control->session && control->session->finished()) {
            co_await drain(control->connection);
            control->connection->close();
        } else {
            send_next(control);
        }
    } catch (const std::exception&) { // the coroutine that reads the connection cleans up
        control->connection->close();
    }
}

/// Wait until the sent bytes have arrived, before the connection is closed.
asio::awaitable<void> SocketService::drain(Peer peer) {
    peer->shutdown_send();
    const Deadline end = after(send_timeout);
    asio::steady_timer pause(io_);
    while (peer->is_open() && !peer->delivered() && Clock::now() < end) {
        pause.expires_after(std::chrono::milliseconds(5));
        co_await pause.async_wait(asio::use_awaitable);
    }
}

/// On the queue's thread.
void SocketService::on_queue_event() {
    if (event_posted_.exchange(true))
        return;
    asio::post(io_, [this] {
        event_posted_ = false;
        for (const auto& control : std::set(controls_))
            send_next(control);
    });
}

// ---- pieces -------------------------------------------------------------------------------------

asio::awaitable<void> SocketService::serve_data(Peer peer) {
    PieceSender sender(*peer, send_timeout);
    std::optional<Error> error;
    try {
        for (;;) {
            const ReceivedMessage received =
                co_await peer->receive(request_limits, never, message_timeout);
            const Message message = received.message(request_limits);
            const auto* request = std::get_if<PieceRequest>(&message);
            if (request == nullptr)
                throw DecodeError("On a data connection only pieces can be requested.");
            co_await answer(peer, sender, *request);
            co_await asio::post(io_, asio::use_awaitable); // let other coroutines run
        }
    } catch (const DecodeError& fault) {
        error = Error{ErrorCode::protocol, fault.what()};
    }
    const auto bytes = encode(*error);
    co_await peer->send(std::span<const std::byte>(bytes), final_message_timeout);
    co_await drain(peer);
}

asio::awaitable<void> SocketService::answer(Peer peer, PieceSender& sender, PieceRequest request) {
    const auto step = held_.find(request.sequence); // kept while it is being sent
    std::optional<Error> error;
    ConstArrayView values;
    if (!step)
        error = Error{ErrorCode::gone,
                      sentence("Step ", request.sequence,
                               " is not available any more: it was released, or withdrawn because "
                               "this reader did not answer.")};
    else
        try {
            values = select(*step, rank_.rank, request);
        } catch (const ModelError& fault) {
            error = Error{ErrorCode::request, fault.what()};
        }
    if (error) {
        const auto bytes = encode(*error);
        co_await peer->send(std::span<const std::byte>(bytes), send_timeout);
    } else {
        co_await sender.send(values, request);
    }
}

} // namespace uzushio::staging::socket
