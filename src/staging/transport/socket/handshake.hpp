#pragma once

#include <asio/awaitable.hpp>
#include <functional>
#include <optional>

#include "staging/staging_error.hpp"
#include "staging/transport/socket/connection.hpp"
#include "staging/transport/socket/secret.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::socket {

/// Maximum duration of a handshake.
inline constexpr std::chrono::nanoseconds handshake_timeout = std::chrono::seconds(5);

/// Rejected handshake or request, with a reason for the user.
class Refused : public StagingError {
  public:
    Refused(ErrorCode code, const std::string& text) : StagingError(text), code_(code) {}
    [[nodiscard]] ErrorCode code() const { return code_; }

  private:
    ErrorCode code_;
};

// Each side sends Hello and a challenge, then proves that it knows the secret:
//
//     client: Hello, Challenge                        Response
//     server:                   Hello, Challenge                 Response
//
// A response is the HMAC of a label for its side, both Hellos and both challenges as they were
// sent. Therefore none of them can be modified in transit, and no response is valid again, in the
// other direction, or for another purpose. The server proves nothing to an unauthenticated peer.

/// Returns an error if an authenticated peer is not admitted, else nothing.
using AdmissionCheck = std::function<std::optional<Error>(const Hello&)>;

/// Run the handshake on the accepting side. Returns the peer's Hello. Throws Refused, PeerGone,
/// PeerSilent or DecodeError, after sending the reason to the peer if possible.
[[nodiscard]] asio::awaitable<Hello> authenticate_as_server(Connection& connection,
                                                            const Secret& secret, Hello ours,
                                                            const AdmissionCheck& screen,
                                                            Deadline deadline);

/// Send the reason of a refusal to the peer, if possible.
[[nodiscard]] asio::awaitable<void> refuse(Connection& connection, Error error, Deadline deadline);

/// Run the handshake on the connecting side. Returns and throws like the accepting side.
[[nodiscard]] asio::awaitable<Hello>
authenticate_as_client(Connection& connection, const Secret& secret, Hello ours, Deadline deadline);

} // namespace uzushio::staging::socket
