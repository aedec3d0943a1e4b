#include "staging/relay/upstream.hpp"

#include <algorithm>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <cstring>
#include <utility>

#include "staging/sentence.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/socket/connect.hpp"
#include "staging/transport/socket/handshake.hpp"
#include "staging/transport/socket/hmac.hpp"
#include "staging/wire/encoder.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::relay {
namespace {

using socket::Contact;
using socket::Deadline;
using socket::WriterConnection;

/// Interval between checks for a writer.
constexpr auto probe_interval = std::chrono::milliseconds(50);
/// Timeout of one attempt, so that an unreachable host does not use up the time.
constexpr auto attempt_timeout = std::chrono::seconds(2);

/// Return the Hello of a relay that connects for a reader.
Hello on_behalf_of(Hello theirs) {
    theirs.role = Role::relay;
    return theirs;
}

} // namespace

Upstream::Upstream(asio::io_context& io, std::string contact, const ReaderOptions& options,
                   const socket::Secret& key)
    : io_(io), name_(std::move(contact)),
      fixed_contact_(socket::contact_of_address(name_, options)), key_(key) {}

std::optional<Contact> Upstream::contact() const {
    return fixed_contact_ ? fixed_contact_ : socket::read_contact(name_);
}

std::uint64_t Upstream::session_number(const Contact& contact, const Endpoints& endpoints) const {
    Encoder text;
    text.text("uzushio staging: session of a relay", "label");
    text.raw(contact.secret);
    text.text(contact.address, "address");
    text.number(endpoints.session);
    for (const auto& endpoint : endpoints.ranks)
        text.text(endpoint.address, "address");
    const auto code = socket::hmac(key_, text.bytes());
    std::uint64_t number = 0;
    std::memcpy(&number, code.data(), sizeof number);
    return std::max<std::uint64_t>(1, number);
}

void Upstream::remember_session(const Contact& contact, const WriterConnection& writer) {
    const std::uint64_t number = session_number(contact, writer.endpoints);
    if (!session_ || session_->number != number)
        session_ = Session{number, contact, writer.tls, writer.endpoints};
}

/// Connect to the first available writer. A refused secret is retried: the file may be from a dead
/// writer, or about to be replaced.
asio::awaitable<WriterConnection> Upstream::control(Hello theirs, Deadline deadline) {
    for (;;) {
        std::string reason = "There is no writer at the other end of the relay yet.";
        try {
            if (const auto contact = this->contact()) {
                const Deadline end = std::min(deadline, socket::after(attempt_timeout));
                WriterConnection writer =
                    co_await socket::open_control(io_, *contact, on_behalf_of(theirs), end);
                remember_session(*contact, writer);
                writer.endpoints.session = session_->number;
                co_return writer;
            }
        } catch (const socket::Refused& refused) {
            if (refused.code() != ErrorCode::authentication)
                throw;
            reason = refused.what();
        } catch (const StagingError& fault) {
            reason = fault.what();
        }
        if (socket::Clock::now() + probe_interval >= deadline)
            throw PeerGone(reason);
        asio::steady_timer pause(io_, probe_interval);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<std::shared_ptr<socket::Connection>> Upstream::data(Hello theirs,
                                                                    Deadline deadline) {
    if (!session_ || session_->number != theirs.session) {
        // This rank does not serve the control connection: attach to learn the session, and detach.
        Hello question = theirs;
        question.channel = Channel::control;
        question.target = 0;
        question.session = 0;
        const WriterConnection writer = co_await control(question, deadline);
        const auto bytes = encode(Detach{});
        co_await writer.control->send(std::span<const std::byte>(bytes), attempt_timeout);
        writer.control->shutdown_send();
        writer.control->close();
    }
    if (session_->number != theirs.session)
        throw socket::Refused(ErrorCode::gone, "The writer at the other end of the relay is not "
                                               "the one of this reader's session: attach again.");
    const Session session = *session_;
    if (theirs.target >= session.endpoints.ranks.size())
        throw socket::Refused(
            ErrorCode::request,
            sentence("The writer at the other end of the relay has no rank ", theirs.target, "."));
    socket::ConnectTarget target{session.endpoints.ranks[theirs.target].address,
                                 session.contact.secret, session.tls.get(), on_behalf_of(theirs)};
    target.hello.session = session.endpoints.session;
    auto opened = co_await socket::connect(io_, target, deadline);
    co_return std::move(opened.connection);
}

/// By a data connection without requests, which does not count as a reader.
asio::awaitable<void> Upstream::probe(Deadline deadline) {
    const auto contact = last_contact_ ? last_contact_ : this->contact();
    if (!contact)
        throw PeerGone("There is no contact file " + name_ + ".");
    std::unique_ptr<socket::TlsContext> tls;
    if (contact->tls)
        tls = std::make_unique<socket::TlsContext>(contact->secret);
    socket::ConnectTarget target{contact->address, contact->secret, tls.get(), {}};
    target.hello.role = Role::relay;
    target.hello.channel = Channel::data;
    const auto opened = co_await socket::connect(io_, std::move(target), deadline);
    opened.connection->shutdown_send();
    opened.connection->close();
    last_contact_ = contact;
}

} // namespace uzushio::staging::relay
