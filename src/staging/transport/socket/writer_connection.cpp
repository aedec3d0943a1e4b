#include "staging/transport/socket/writer_connection.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "parallel/wait_hook.hpp"
#include "staging/notice.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/to_seconds.hpp"
#include "staging/transport/socket/address.hpp"
#include "staging/transport/socket/connect.hpp"
#include "staging/transport/socket/contact.hpp"
#include "staging/transport/socket/handshake.hpp"
#include "staging/transport/socket/run_until_done.hpp"

namespace uzushio::staging::socket {
namespace {

/// Interval between connection attempts.
constexpr auto pause = std::chrono::milliseconds(50);

/// Time in which a contact file with a wrong secret may be replaced: a new writer first listens,
/// possibly on the same port, and then writes its file.
constexpr auto replacement_timeout = std::chrono::seconds(2);

constexpr auto contact_advice =
    "Start the writer, or check the path of its contact file; a run writes one only if its case "
    "has a section `publish`.";

} // namespace

asio::awaitable<WriterConnection> open_control(asio::io_context& io, Contact contact, Hello hello,
                                               Deadline deadline) {
    WriterConnection writer;
    writer.secret = contact.secret;
    if (contact.tls)
        writer.tls = std::make_shared<TlsContext>(contact.secret);
    const ConnectTarget target{contact.address, contact.secret, writer.tls.get(), std::move(hello)};
    AuthenticatedConnection opened = co_await connect(io, target, deadline);
    const ReceivedMessage received = co_await opened.connection->receive(
        DecodeLimits{}, after(handshake_timeout), handshake_timeout);
    const Message message = received.message();
    if (const auto* error = std::get_if<Error>(&message)) {
        if (error->code == ErrorCode::gone) // a relay that itself waits for the writer
            throw NoWriterYet(error->text);
        throw Refused(error->code, error->text);
    }
    if (const auto* endpoints = std::get_if<Endpoints>(&message))
        writer.endpoints = *endpoints;
    require(!writer.endpoints.ranks.empty(), "The writer at ", contact.address,
            " sent no endpoints of its ranks.");
    writer.control = opened.connection;
    writer.hello = opened.peer;
    co_return writer;
}

std::optional<Contact> contact_of_address(const std::string& address,
                                          const ReaderOptions& options) {
    if (!is_address(address))
        return {};
    require(!options.secret.empty(), "To attach to ", address,
            " its secret is needed, from the writer's contact file: give it as the "
            "option `secret`, or give the contact file.");
    Contact contact;
    contact.address = address;
    contact.secret = parse_secret(options.secret);
    contact.tls = options.tls;
    return contact;
}

namespace {

/// One search for a writer. Stores the last obstacle for the error message.
class WriterSearch {
  public:
    WriterSearch(asio::io_context& io, const std::string& contact, const ReaderOptions& options,
                 Hello hello)
        : io_(io), name_(contact), options_(options), hello_(std::move(hello)),
          deadline_(after(options.attach_limit)) {
        hello_.stream = options.stream;
        fixed_ = contact_of_address(contact, options);
    }

    WriterConnection run() {
        for (;;) {
            if (auto writer = try_connect())
                return std::move(*writer);
            if (Clock::now() >= deadline_)
                throw PeerGone("No writer was found within " + to_seconds(options_.attach_limit) +
                               ". " + obstacle_);
            notify_waiting();
            parallel::run_wait_hooks();
            std::this_thread::sleep_for(pause);
        }
    }

  private:
    /// Print the obstacle once, and again when it changes.
    void notify_waiting() {
        if (obstacle_ == notified_ || (!refused_ && Clock::now() < notice_time_))
            return;
        notified_ = obstacle_;
        notice(obstacle_ + " Waiting for the writer for up to " +
               to_seconds(options_.attach_limit) + ".");
    }

    std::optional<WriterConnection> try_connect() {
        const auto contact = fixed_ ? fixed_ : read_contact(name_);
        if (!contact) {
            refused_ = false;
            obstacle_ = "There is no contact file " + name_ + ". " + contact_advice;
            return {};
        }
        // At least one complete attempt, even after the deadline.
        const Deadline end = std::max(deadline_, after(std::chrono::seconds(1)));
        try {
            return run_until_done(io_, open_control(io_, *contact, hello_, end));
        } catch (const Refused& refused) {
            if (refused.code() != ErrorCode::authentication)
                throw;
            handle_wrong_secret(*contact, refused.what());
        } catch (const NoWriterYet& waiting) {
            refused_ = false;
            obstacle_ = waiting.what();
        } catch (const PeerGone& gone) { // no process listens, or it is ending
            refused_ = true;
            obstacle_ = describe(*contact, gone.what());
        } catch (const PeerSilent& silent) {
            obstacle_ = describe(*contact, silent.what());
        }
        return {};
    }

    void handle_wrong_secret(const Contact& contact, const std::string& text) {
        const std::string whole =
            fixed_ ? text : "The contact file " + name_ + " does not match the writer: " + text;
        require(!fixed_ && (!wrong_ || *wrong_ != contact || Clock::now() < wrong_until_), whole);
        if (!wrong_ || !(*wrong_ == contact)) {
            wrong_ = contact;
            wrong_until_ = after(replacement_timeout);
        }
        obstacle_ = whole;
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
    Deadline notice_time_ = after(std::chrono::seconds(2));
    bool refused_ = false; ///< the last connection was refused
    std::string obstacle_, notified_;
};

} // namespace

WriterConnection connect_to_writer(asio::io_context& io, const std::string& contact,
                                   const ReaderOptions& options, Hello hello) {
    return WriterSearch(io, contact, options, std::move(hello)).run();
}

} // namespace uzushio::staging::socket
