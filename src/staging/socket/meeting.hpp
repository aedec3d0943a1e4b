#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "staging/messages.hpp"
#include "staging/reader_options.hpp"
#include "staging/socket/connection.hpp"
#include "staging/socket/secret.hpp"
#include "staging/socket/tls.hpp"

namespace uzushio::staging::socket {

/// What a reader, or a relay, has when it has found its writer.
struct Meeting {
    Secret secret{};
    std::shared_ptr<TlsContext> tls; ///< null: plain
    std::shared_ptr<Connection> control;
    Hello writer;
    Endpoints endpoints;
};

/// Find the writer that a contact file or "host:port" leads to, and open the control connection to
/// it. Waits for the file to appear and for the writer to listen, until `options.attach_limit`: a
/// file that another run left behind leads nowhere until it is replaced. `hello` says who asks; the
/// expected name of the stream is taken from the options. Throws StagingError.
[[nodiscard]] Meeting meet(asio::io_context& io, const std::string& contact,
                           const ReaderOptions& options, Hello hello);

} // namespace uzushio::staging::socket
