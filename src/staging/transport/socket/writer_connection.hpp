#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "staging/reader_options.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/socket/connection.hpp"
#include "staging/transport/socket/contact.hpp"
#include "staging/transport/socket/secret.hpp"
#include "staging/transport/socket/tls.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::socket {

/// Established connection to a writer: secret, TLS context, control channel and the endpoints of
/// its ranks.
struct WriterConnection {
    Secret secret{};
    std::shared_ptr<TlsContext> tls; ///< null: plain
    std::shared_ptr<Connection> control;
    Hello hello;
    Endpoints endpoints;
};

/// Return the contact of an address "host:port", with the secret in the options; nothing if the
/// text is the name of a file. Throws StagingError if there is no secret.
[[nodiscard]] std::optional<Contact> contact_of_address(const std::string& address,
                                                        const ReaderOptions& options);

/// Error of a relay that is reached, but has no writer yet.
class NoWriterYet : public PeerGone {
  public:
    using PeerGone::PeerGone;
};

/// Open a control connection to the writer of a contact, and receive its endpoints. Throws
/// StagingError; NoWriterYet if it is a relay without a writer.
[[nodiscard]] asio::awaitable<WriterConnection> open_control(asio::io_context& io, Contact contact,
                                                             Hello hello, Deadline deadline);

/// Find the writer of a contact file or "host:port", and open a control connection to it. Waits for
/// the file to appear and for the writer to listen, until `options.attach_limit`; a file that
/// another run left behind is retried until it is replaced. A refused connection causes a notice at
/// once, any other obstacle after two seconds. `hello` describes this side; the expected name of
/// the stream is taken from the options. Throws StagingError.
[[nodiscard]] WriterConnection connect_to_writer(asio::io_context& io, const std::string& contact,
                                                 const ReaderOptions& options, Hello hello);

} // namespace uzushio::staging::socket
