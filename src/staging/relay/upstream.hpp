#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "staging/reader_options.hpp"
#include "staging/transport/socket/connection.hpp"
#include "staging/transport/socket/contact.hpp"
#include "staging/transport/socket/tls.hpp"
#include "staging/transport/socket/writer_connection.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::relay {

/// The writer of a relay's contact, and its successors. Each has a session number, so that requests
/// for one never reach another. For one thread.
class Upstream {
  public:
    /// `contact` is a contact file, or "host:port" with secret and TLS in the options. `key` is the
    /// relay's own secret, so that all its ranks compute the same session number. Throws
    /// StagingError if the contact is host:port without a secret.
    Upstream(asio::io_context& io, std::string contact, const ReaderOptions& options,
             const socket::Secret& key);

    /// Return the current contact; nothing if there is none.
    [[nodiscard]] std::optional<socket::Contact> contact() const;

    /// Open a control connection for the reader that sent `theirs`. Waits for a writer until the
    /// deadline. The endpoints are the writer's, with the session number of this relay. Throws
    /// PeerGone if there is no writer then, Refused if it rejects the reader.
    [[nodiscard]] asio::awaitable<socket::WriterConnection> control(Hello theirs,
                                                                    socket::Deadline deadline);
    /// Open a data connection for the reader that sent `theirs` to the writer of its session.
    /// Throws Refused if the contact's writer is another one now.
    [[nodiscard]] asio::awaitable<std::shared_ptr<socket::Connection>>
    data(Hello theirs, socket::Deadline deadline);

    /// Check whether the last known writer, if any, or that of the contact is available, without
    /// attaching. Throws PeerGone if the connection is refused.
    [[nodiscard]] asio::awaitable<void> probe(socket::Deadline deadline);

  private:
    struct Session {
        std::uint64_t number = 0;
        socket::Contact contact;
        std::shared_ptr<socket::TlsContext> tls;
        Endpoints endpoints;
    };
    [[nodiscard]] std::uint64_t session_number(const socket::Contact& contact,
                                               const Endpoints& endpoints) const;
    void remember_session(const socket::Contact& contact, const socket::WriterConnection& writer);

    asio::io_context& io_;
    std::string name_;
    std::optional<socket::Contact> fixed_contact_;
    socket::Secret key_;
    std::optional<Session> session_;
    std::optional<socket::Contact> last_contact_; ///< found by `probe`
};

} // namespace uzushio::staging::relay
