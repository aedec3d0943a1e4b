#include "staging/transport/socket/service.hpp"

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <utility>

#include "parallel/wait_hook.hpp"
#include "staging/datamodel/model_error.hpp"
#include "staging/queue/reader_session.hpp"
#include "staging/quiet_thread.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/socket/listener.hpp"
#include "staging/transport/socket/piece_sender.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

/// For a message to be there when it has begun, and for a peer to take some of what is sent.
constexpr auto message_limit = std::chrono::seconds(5);
constexpr auto taking_limit = std::chrono::seconds(60);
constexpr auto farewell_limit = std::chrono::seconds(1);

constexpr std::size_t most_name = 200; ///< fits into what Limits::handshake() allows

/// What readers send is small, whoever they are.
constexpr Limits request_limits = Limits::handshake();

/// A reader's control connection. Its session may be told something by the queue while the
/// connection is being read from.
struct Control {
    Control(std::shared_ptr<Connection> connection_, Queue& queue)
        : connection(std::move(connection_)), session(std::in_place, queue) {}
    std::shared_ptr<Connection> connection;
    std::optional<ReaderSession> session; ///< until the connection has ended
    bool writing = false;
};

} // namespace

/// All but what is marked runs on the service's thread.
class SocketService::Core {
  public:
    Core(Owner owner, const Secret& secret, const EngineOptions::Tcp& options,
         const HeldSteps& held, Queue* queue);
    ~Core();

    // On the owner's thread.
    [[nodiscard]] const Owner& owner() const { return owner_; }
    [[nodiscard]] const std::string& address() const { return listener_.address(); }
    void open(Endpoints all);
    void close(std::chrono::nanoseconds limit);

  private:
    using Peer = std::shared_ptr<Connection>;
    using Bytes = std::shared_ptr<const std::vector<std::byte>>;

    void stop();
    void run();
    [[nodiscard]] Hello hello() const;
    [[nodiscard]] std::optional<Error> screen(const Hello& theirs) const;
    [[nodiscard]] asio::awaitable<void> serve(Peer peer, Hello theirs);
    [[nodiscard]] asio::awaitable<void> serve_data(Peer peer);
    [[nodiscard]] asio::awaitable<void> serve_control(Peer peer);
    [[nodiscard]] asio::awaitable<void> answer(Peer peer, PieceSender& sender,
                                               PieceRequest request);
    [[nodiscard]] asio::awaitable<Error> listen_to(std::shared_ptr<Control> control);
    [[nodiscard]] asio::awaitable<void> tell(std::shared_ptr<Control> control, Bytes bytes);
    [[nodiscard]] asio::awaitable<void> part_with(Peer peer);
    void pump(const std::shared_ptr<Control>& control);
    void on_news();

    Owner owner_;
    const HeldSteps& held_;
    Queue* queue_;
    Endpoints all_;
    bool closing_ = false;
    std::promise<void> all_gone_;
    std::atomic<bool> news_{false};
    asio::io_context io_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
    std::set<std::shared_ptr<Control>> controls_;
    Listener listener_;
    std::thread thread_;
};

SocketService::Core::Core(Owner owner, const Secret& secret, const EngineOptions::Tcp& options,
                          const HeldSteps& held, Queue* queue)
    : owner_(std::move(owner)), held_(held), queue_(queue),
      listener_(
          io_, options, secret, hello(), [this](const Hello& theirs) { return screen(theirs); },
          [this](Peer peer, Hello theirs) { return serve(std::move(peer), std::move(theirs)); }) {
    if (owner_.rank != 0)
        listener_.start();
    thread_ = quiet_thread([this] { run(); });
    if (queue_ != nullptr)
        queue_->on_news([this] { on_news(); });
}

SocketService::Core::~Core() { stop(); }

void SocketService::Core::run() {
    for (;;)
        try {
            io_.run();
            return;
        } catch (const std::exception&) { // no memory for a coroutine: the others go on
        }
}

void SocketService::Core::stop() {
    if (!thread_.joinable())
        return;
    if (queue_ != nullptr)
        queue_->on_news({});
    io_.stop();
    thread_.join();
    listener_.stop();
    for (const auto& control : controls_)
        control->connection->close();
    controls_.clear();
}

void SocketService::Core::open(Endpoints all) {
    asio::post(io_, [this, all = std::move(all)] {
        all_ = all;
        if (owner_.rank == 0)
            listener_.start();
    });
}

void SocketService::Core::close(std::chrono::nanoseconds limit) {
    if (!thread_.joinable())
        return;
    struct Stop { // also after an interrupt
        Core& core;
        ~Stop() { core.stop(); }
    } stops{*this};
    auto all_gone = all_gone_.get_future();
    asio::post(io_, [this] {
        closing_ = true;
        listener_.stop();
        for (const auto& control : std::set(controls_))
            pump(control);
        if (controls_.empty())
            all_gone_.set_value();
    });
    const Deadline end = after(limit);
    while (all_gone.wait_until(std::min(end, Clock::now() + parallel::wait_hook_interval)) !=
               std::future_status::ready &&
           Clock::now() < end)
        parallel::run_wait_hooks();
}

Hello SocketService::Core::hello() const {
    if (owner_.stream.size() > most_name)
        throw StagingError("The name of a stream has at most " + std::to_string(most_name) +
                           " bytes; the one given has " + std::to_string(owner_.stream.size()) +
                           ".");
    Hello hello;
    hello.role = Role::writer;
    hello.rank = owner_.rank;
    hello.ranks = owner_.ranks;
    hello.target = owner_.rank;
    hello.stream = owner_.stream;
    return hello;
}

std::optional<Error> SocketService::Core::screen(const Hello& theirs) const {
    if (!theirs.stream.empty() && theirs.stream != owner_.stream)
        return Error{ErrorCode::request, "The stream here is \"" + owner_.stream + "\", not \"" +
                                             theirs.stream + "\"."};
    const std::uint32_t target = theirs.channel == Channel::control ? 0 : theirs.target;
    if (target != owner_.rank)
        return Error{ErrorCode::request, "Here is rank " + std::to_string(owner_.rank) +
                                             " of the writer, not rank " + std::to_string(target) +
                                             ": its ports have changed hands; attach again."};
    if (theirs.role == Role::writer)
        return Error{ErrorCode::protocol, "A writer cannot read from a writer."};
    return {};
}

asio::awaitable<void> SocketService::Core::serve(Peer peer, Hello theirs) {
    if (theirs.channel == Channel::control)
        co_await serve_control(std::move(peer));
    else
        co_await serve_data(std::move(peer));
}

// ---- steps are announced ----------------------------------------------------------------------

asio::awaitable<void> SocketService::Core::serve_control(Peer peer) {
    const auto endpoints = encode(all_);
    co_await peer->send(std::span<const std::byte>(endpoints), taking_limit);
    const auto control = std::make_shared<Control>(peer, *queue_);
    controls_.insert(control);
    std::optional<Error> error;
    try {
        error = co_await listen_to(control);
    } catch (const DecodeError& fault) {
        error = Error{ErrorCode::protocol, fault.what()};
    } catch (const std::exception&) { // gone, or silent in the middle of a message
    }
    controls_.erase(control);
    control->session.reset();
    if (error && !control->writing) {
        const auto bytes = encode(*error);
        try {
            co_await peer->send(std::span<const std::byte>(bytes), farewell_limit);
            co_await part_with(peer);
        } catch (const StagingError&) { // it has gone before
        }
    }
    peer->close();
    if (closing_ && controls_.empty())
        all_gone_.set_value();
}

/// Returns what the reader did wrong; throws PeerGone when it has left, as they all do.
asio::awaitable<Error> SocketService::Core::listen_to(std::shared_ptr<Control> control) {
    pump(control);
    for (;;) {
        const Incoming incoming =
            co_await control->connection->receive(request_limits, never, message_limit);
        const bool ended = control->session->finished(); // End is on its way, this is from before
        if (!ended) {
            if (const auto error = control->session->receive(incoming.message(request_limits)))
                co_return *error;
            if (control->session->finished())
                throw PeerGone("The reader has left.");
        }
        pump(control);
        co_await asio::post(io_, asio::use_awaitable); // others' turn
    }
}

/// Say what is to be said to a reader now, unless something is on its way to it.
void SocketService::Core::pump(const std::shared_ptr<Control>& control) {
    if (control->writing || !control->session)
        return;
    Bytes bytes = control->session->poll();
    if (!bytes && closing_)
        bytes = control->session->end();
    if (!bytes)
        return;
    control->writing = true;
    asio::co_spawn(io_, tell(control, std::move(bytes)), asio::detached);
}

asio::awaitable<void> SocketService::Core::tell(std::shared_ptr<Control> control, Bytes bytes) {
    try {
        co_await control->connection->send(std::span<const std::byte>(*bytes), taking_limit);
        control->writing = false;
        if (control->session && control->session->finished()) {
            co_await part_with(control->connection);
            control->connection->close();
        } else {
            pump(control);
        }
    } catch (const std::exception&) { // whoever listens on the connection notices, and cleans up
        control->connection->close();
    }
}

/// Let what was sent arrive before the connection is closed.
asio::awaitable<void> SocketService::Core::part_with(Peer peer) {
    peer->finish();
    const Deadline end = after(taking_limit);
    asio::steady_timer pause(io_);
    while (peer->is_open() && !peer->delivered() && Clock::now() < end) {
        pause.expires_after(std::chrono::milliseconds(5));
        co_await pause.async_wait(asio::use_awaitable);
    }
}

/// On the thread that has the news.
void SocketService::Core::on_news() {
    if (news_.exchange(true))
        return;
    asio::post(io_, [this] {
        news_ = false;
        for (const auto& control : std::set(controls_))
            pump(control);
    });
}

// ---- pieces are sent --------------------------------------------------------------------------

asio::awaitable<void> SocketService::Core::serve_data(Peer peer) {
    PieceSender sender(*peer, taking_limit);
    std::optional<Error> error;
    try {
        for (;;) {
            const Incoming incoming = co_await peer->receive(request_limits, never, message_limit);
            const Message message = incoming.message(request_limits);
            const auto* request = std::get_if<PieceRequest>(&message);
            if (request == nullptr)
                throw DecodeError("On this connection only pieces can be asked for.");
            co_await answer(peer, sender, *request);
            co_await asio::post(io_, asio::use_awaitable); // others' turn
        }
    } catch (const DecodeError& fault) {
        error = Error{ErrorCode::protocol, fault.what()};
    }
    const auto bytes = encode(*error);
    co_await peer->send(std::span<const std::byte>(bytes), farewell_limit);
    co_await part_with(peer);
}

asio::awaitable<void> SocketService::Core::answer(Peer peer, PieceSender& sender,
                                                  PieceRequest request) {
    const auto step = held_.find(request.sequence); // kept as long as it is being sent
    std::optional<Error> error;
    ConstArrayView values;
    if (!step)
        error = Error{ErrorCode::gone, "Step " + std::to_string(request.sequence) +
                                           " is not there any more: it was released, or given up "
                                           "because this reader did not answer."};
    else
        try {
            values = select(*step, owner_.rank, request);
        } catch (const ModelError& fault) {
            error = Error{ErrorCode::request, fault.what()};
        }
    if (error) {
        const auto bytes = encode(*error);
        co_await peer->send(std::span<const std::byte>(bytes), taking_limit);
    } else {
        co_await sender.send(values, request);
    }
}

// ---- the service ------------------------------------------------------------------------------

SocketService::SocketService(Owner owner, const Secret& secret, const EngineOptions::Tcp& options,
                             const HeldSteps& held, Queue* queue)
    : core_(std::make_unique<Core>(std::move(owner), secret, options, held, queue)) {}

SocketService::~SocketService() = default;

Endpoint SocketService::endpoint() const { return {core_->address(), core_->owner().node}; }

void SocketService::open(const Endpoints& all) { core_->open(all); }

void SocketService::close(std::chrono::nanoseconds limit) { core_->close(limit); }

} // namespace uzushio::staging::socket
