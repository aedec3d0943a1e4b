#include "staging/relay/upstream.hpp"

#include <algorithm>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <cstring>
#include <utility>

#include "staging/staging_error.hpp"
#include "staging/transport/socket/dial.hpp"
#include "staging/transport/socket/handshake.hpp"
#include "staging/transport/socket/hmac.hpp"
#include "staging/wire/encoder.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::relay {
namespace {

using socket::Contact;
using socket::Deadline;
using socket::Meeting;

/// Between two looks for a writer.
constexpr auto between_looks = std::chrono::milliseconds(50);
/// For one attempt, of which a dead host must not take all the time.
constexpr auto attempt_limit = std::chrono::seconds(2);

/// What a relay says of a reader for which it asks.
Hello on_behalf_of(Hello theirs) {
    theirs.role = Role::relay;
    return theirs;
}

} // namespace

Upstream::Upstream(asio::io_context& io, std::string contact, const ReaderOptions& options,
                   const socket::Secret& key)
    : io_(io), name_(std::move(contact)), fixed_(socket::contact_at(name_, options)), key_(key) {}

std::optional<Contact> Upstream::contact() const {
    return fixed_ ? fixed_ : socket::read_contact(name_);
}

std::uint64_t Upstream::number_of(const Contact& contact, const Endpoints& endpoints) const {
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

void Upstream::learn(const Contact& contact, const Meeting& meeting) {
    const std::uint64_t number = number_of(contact, meeting.endpoints);
    if (!now_ || now_->number != number)
        now_ = Session{number, contact, meeting.tls, meeting.endpoints};
}

/// With the first writer that is there. What it is to be told apart from: a file that a dead one
/// left behind, and one that is about to be replaced.
asio::awaitable<Meeting> Upstream::control(Hello theirs, Deadline deadline) {
    for (;;) {
        std::string found = "There is no writer at the other end of the relay yet.";
        try {
            if (const auto contact = this->contact()) {
                const Deadline end = std::min(deadline, socket::after(attempt_limit));
                Meeting meeting =
                    co_await socket::call_on(io_, *contact, on_behalf_of(theirs), end);
                learn(*contact, meeting);
                meeting.endpoints.session = now_->number;
                co_return meeting;
            }
        } catch (const socket::Refused& refused) {
            if (refused.code() != ErrorCode::authentication)
                throw;
            found = refused.what();
        } catch (const StagingError& fault) {
            found = fault.what();
        }
        if (socket::Clock::now() + between_looks >= deadline)
            throw PeerGone(found);
        asio::steady_timer pause(io_, between_looks);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<std::shared_ptr<socket::Connection>> Upstream::data(Hello theirs,
                                                                    Deadline deadline) {
    if (!now_ || now_->number != theirs.session) {
        // Of a rank whose control connections go to another one: ask, and leave again.
        Hello question = theirs;
        question.channel = Channel::control;
        question.target = 0;
        question.session = 0;
        const Meeting meeting = co_await control(question, deadline);
        const auto bytes = encode(Detach{});
        co_await meeting.control->send(std::span<const std::byte>(bytes), attempt_limit);
        meeting.control->finish();
        meeting.control->close();
    }
    if (now_->number != theirs.session)
        throw socket::Refused(ErrorCode::gone, "The writer at the other end of the relay is not "
                                               "the one that this reader attached to: attach "
                                               "again.");
    const Session session = *now_;
    if (theirs.target >= session.endpoints.ranks.size())
        throw socket::Refused(ErrorCode::request,
                              "The writer at the other end of the relay has no rank " +
                                  std::to_string(theirs.target) + ".");
    socket::Call call{session.endpoints.ranks[theirs.target].address, session.contact.secret,
                      session.tls.get(), on_behalf_of(theirs)};
    call.hello.session = session.endpoints.session;
    auto dialed = co_await socket::dial(io_, call, deadline);
    co_return std::move(dialed.connection);
}

/// By a data connection that asks for nothing and is not counted as a reader.
asio::awaitable<void> Upstream::probe(Deadline deadline) {
    const auto contact = seen_ ? seen_ : this->contact();
    if (!contact)
        throw PeerGone("There is no contact file " + name_ + ".");
    std::unique_ptr<socket::TlsContext> tls;
    if (contact->tls)
        tls = std::make_unique<socket::TlsContext>(contact->secret);
    socket::Call call{contact->address, contact->secret, tls.get(), {}};
    call.hello.role = Role::relay;
    call.hello.channel = Channel::data;
    const auto dialed = co_await socket::dial(io_, std::move(call), deadline);
    dialed.connection->finish();
    dialed.connection->close();
    seen_ = contact;
}

} // namespace uzushio::staging::relay
