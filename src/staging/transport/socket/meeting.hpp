#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <cstdint>
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

/// What a reader, or a relay, has when it has found its writer.
struct Meeting {
    Secret secret{};
    std::shared_ptr<TlsContext> tls; ///< null: plain
    std::shared_ptr<Connection> control;
    Hello writer;
    Endpoints endpoints;
};

/// The contact that "host:port" is, with the secret in the options; nothing if it is not of that
/// form, but a file. Throws StagingError if there is no secret.
[[nodiscard]] std::optional<Contact> contact_at(const std::string& address,
                                                const ReaderOptions& options);

/// A relay is there, and the writer behind it is not.
class NoWriterYet : public PeerGone {
  public:
    using PeerGone::PeerGone;
};

/// Open a control connection to the writer of a contact, and hear where its ranks are. Throws
/// StagingError; NoWriterYet if it is a relay that has no writer yet.
[[nodiscard]] asio::awaitable<Meeting> call_on(asio::io_context& io, Contact contact, Hello hello,
                                               Deadline deadline);

/// Find the writer that a contact file or "host:port" leads to, and open the control connection to
/// it. Waits for the file to appear and for the writer to listen, until `options.attach_limit`: a
/// file that another run left behind leads nowhere until it is replaced. A refused connection is
/// told at once, anything else that it waits for after two seconds (`notice`). `hello` says who
/// asks; the expected name of the stream is taken from the options. Throws StagingError.
[[nodiscard]] Meeting meet(asio::io_context& io, const std::string& contact,
                           const ReaderOptions& options, Hello hello);

} // namespace uzushio::staging::socket
