#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "staging/reader_options.hpp"
#include "staging/transport/socket/connection.hpp"
#include "staging/transport/socket/contact.hpp"
#include "staging/transport/socket/meeting.hpp"
#include "staging/transport/socket/tls.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::relay {

/// The writer that a relay leads to, and the next one when that has ended: whichever the contact is
/// of at the time. Each has a session number; what is asked of one never reaches another. Used by
/// one thread.
class Upstream {
  public:
    /// `contact` is a contact file, or "host:port" with secret and TLS in the options. `key` is
    /// the relay's own secret: all its ranks give the same session the same number. Throws
    /// StagingError if the contact is host:port without a secret.
    Upstream(asio::io_context& io, std::string contact, const ReaderOptions& options,
             const socket::Secret& key);

    /// What the contact says now; nothing if there is none.
    [[nodiscard]] std::optional<socket::Contact> contact() const;

    /// Open a control connection for the reader that said `theirs`. Waits for a writer until the
    /// deadline. The endpoints are the writer's, with the session's number here. Throws PeerGone if
    /// there is no writer then, Refused if it does not want the reader.
    [[nodiscard]] asio::awaitable<socket::Meeting> control(Hello theirs, socket::Deadline deadline);
    /// Open a data connection for the reader that said `theirs`, to the writer of its session.
    /// Throws Refused if that is not the writer of the contact now.
    [[nodiscard]] asio::awaitable<std::shared_ptr<socket::Connection>>
    data(Hello theirs, socket::Deadline deadline);

    /// See whether the writer is there, without attaching to it: the one that was there last, if
    /// any. Throws PeerGone if the connection is refused.
    [[nodiscard]] asio::awaitable<void> probe(socket::Deadline deadline);

  private:
    struct Session {
        std::uint64_t number = 0;
        socket::Contact contact;
        std::shared_ptr<socket::TlsContext> tls;
        Endpoints endpoints;
    };
    [[nodiscard]] std::uint64_t number_of(const socket::Contact& contact,
                                          const Endpoints& endpoints) const;
    void learn(const socket::Contact& contact, const socket::Meeting& meeting);

    asio::io_context& io_;
    std::string name_;
    std::optional<socket::Contact> fixed_;
    socket::Secret key_;
    std::optional<Session> now_;
    std::optional<socket::Contact> seen_; ///< that `probe` found
};

} // namespace uzushio::staging::relay
