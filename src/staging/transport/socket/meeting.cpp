#include "staging/transport/socket/meeting.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "parallel/wait_hook.hpp"
#include "staging/in_seconds.hpp"
#include "staging/notice.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/socket/contact.hpp"
#include "staging/transport/socket/dial.hpp"
#include "staging/transport/socket/handshake.hpp"
#include "staging/transport/socket/run_until_done.hpp"
#include "staging/transport/socket/source.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

/// Between two looks.
constexpr auto pause = std::chrono::milliseconds(50);

/// A contact file whose secret is wrong may be about to be replaced: a new writer listens first,
/// perhaps on the same port, and writes its file then.
constexpr auto replacing_limit = std::chrono::seconds(2);

constexpr auto contact_advice =
    "Start the writer, or look where it writes its contact; a run writes one only if its case has "
    "a section `publish`.";

} // namespace

asio::awaitable<Meeting> call_on(asio::io_context& io, Contact contact, Hello hello,
                                 Deadline deadline) {
    Meeting meeting;
    meeting.secret = contact.secret;
    if (contact.tls)
        meeting.tls = std::make_shared<TlsContext>(contact.secret);
    const Call call{contact.address, contact.secret, meeting.tls.get(), std::move(hello)};
    Dialed dialed = co_await dial(io, call, deadline);
    const Incoming incoming =
        co_await dialed.connection->receive(Limits{}, after(handshake_limit), handshake_limit);
    const Message message = incoming.message();
    if (const auto* error = std::get_if<Error>(&message)) {
        if (error->code == ErrorCode::gone) // a relay that waits for the writer itself
            throw NoWriterYet(error->text);
        throw Refused(error->code, error->text);
    }
    if (const auto* endpoints = std::get_if<Endpoints>(&message))
        meeting.endpoints = *endpoints;
    if (meeting.endpoints.ranks.empty())
        throw StagingError("The writer at " + contact.address +
                           " did not say where its ranks are.");
    meeting.control = dialed.connection;
    meeting.writer = dialed.peer;
    co_return meeting;
}

std::optional<Contact> contact_at(const std::string& address, const ReaderOptions& options) {
    if (!is_address(address))
        return {};
    if (options.secret.empty())
        throw StagingError("To attach to " + address +
                           " its secret is needed, from the writer's contact file: give it as the "
                           "option `secret`, or give the contact file.");
    Contact contact;
    contact.address = address;
    contact.secret = parse_secret(options.secret);
    contact.tls = options.tls;
    return contact;
}

namespace {

/// One search. Remembers what was found last, for the message at its end.
class Search {
  public:
    Search(asio::io_context& io, const std::string& contact, const ReaderOptions& options,
           Hello hello)
        : io_(io), name_(contact), options_(options), hello_(std::move(hello)),
          deadline_(after(options.attach_limit)) {
        hello_.stream = options.stream;
        fixed_ = contact_at(contact, options);
    }

    Meeting run() {
        for (;;) {
            if (auto meeting = look())
                return std::move(*meeting);
            if (Clock::now() >= deadline_)
                throw PeerGone("No writer was there within " + in_seconds(options_.attach_limit) +
                               ". " + found_);
            tell();
            parallel::run_wait_hooks();
            std::this_thread::sleep_for(pause);
        }
    }

  private:
    /// What is in the way: once, and again when it is something else.
    void tell() {
        if (found_ == told_ || (!refused_ && Clock::now() < quiet_until_))
            return;
        told_ = found_;
        notice(found_ + " Waiting for the writer for up to " + in_seconds(options_.attach_limit) +
               ".");
    }

    std::optional<Meeting> look() {
        const auto contact = fixed_ ? fixed_ : read_contact(name_);
        if (!contact) {
            refused_ = false;
            found_ = "There is no contact file " + name_ + ". " + contact_advice;
            return {};
        }
        // Even if the time is up, one honest attempt.
        const Deadline end = std::max(deadline_, after(std::chrono::seconds(1)));
        try {
            return run_until_done(io_, call_on(io_, *contact, hello_, end));
        } catch (const Refused& refused) {
            if (refused.code() != ErrorCode::authentication)
                throw;
            wrong_secret(*contact, refused.what());
        } catch (const NoWriterYet& waiting) {
            refused_ = false;
            found_ = waiting.what();
        } catch (const PeerGone& gone) { // nobody listens, or it is just ending
            refused_ = true;
            found_ = describe(*contact, gone.what());
        } catch (const PeerSilent& silent) {
            found_ = describe(*contact, silent.what());
        }
        return {};
    }

    void wrong_secret(const Contact& contact, const std::string& text) {
        const std::string whole =
            fixed_ ? text : "The contact file " + name_ + " does not fit: " + text;
        if (fixed_ || (wrong_ && *wrong_ == contact && Clock::now() >= wrong_until_))
            throw StagingError(whole);
        if (!wrong_ || !(*wrong_ == contact)) {
            wrong_ = contact;
            wrong_until_ = after(replacing_limit);
        }
        found_ = whole;
    }

    std::string describe(const Contact& contact, const std::string& what) const {
        if (fixed_)
            return what;
        return what + " The contact file " + name_ + " is from process " +
               std::to_string(contact.process) + " on " + contact.host +
               ", which has probably ended: remove the file, or start the writer again.";
    }

    asio::io_context& io_;
    std::string name_;
    const ReaderOptions& options_;
    Hello hello_;
    Deadline deadline_;
    std::optional<Contact> fixed_; ///< for host:port
    std::optional<Contact> wrong_;
    Deadline wrong_until_ = never;
    Deadline quiet_until_ = after(std::chrono::seconds(2));
    bool refused_ = false; ///< the last connection was refused
    std::string found_, told_;
};

} // namespace

Meeting meet(asio::io_context& io, const std::string& contact, const ReaderOptions& options,
             Hello hello) {
    return Search(io, contact, options, std::move(hello)).run();
}

} // namespace uzushio::staging::socket
