#pragma once

#include <asio/awaitable.hpp>
#include <functional>
#include <optional>

#include "staging/staging_error.hpp"
#include "staging/transport/socket/connection.hpp"
#include "staging/transport/socket/secret.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::socket {

/// Time for the whole of a handshake: a peer that is still nobody then is dropped.
inline constexpr std::chrono::nanoseconds handshake_limit = std::chrono::seconds(5);

/// The two sides cannot work together, for a reason that may be told to the user.
class Refused : public StagingError {
  public:
    Refused(ErrorCode code, const std::string& text) : StagingError(text), code_(code) {}
    [[nodiscard]] ErrorCode code() const { return code_; }

  private:
    ErrorCode code_;
};

// Each side says Hello and challenges the other one, then proves that it knows the secret:
//
//     connects: Hello, Challenge                        Response
//     accepts:                   Hello, Challenge                 Response
//
// A response is the HMAC of a label for the side that gives it, both Hellos and both challenges as
// they were sent: nothing of them can be changed on the way, and no response be used again, in the
// other direction, or for another purpose. The side that accepts proves nothing to a stranger.

/// What keeps a peer away that has proved itself; nothing if it is welcome.
using Screen = std::function<std::optional<Error>(const Hello&)>;

/// As the side that accepts. Returns the other one's Hello. Throws Refused, PeerGone, PeerSilent or
/// DecodeError; the other side was told why, as far as it can be.
[[nodiscard]] asio::awaitable<Hello> accept(Connection& connection, const Secret& secret,
                                            Hello ours, const Screen& screen, Deadline deadline);

/// As the side that connects. The same.
[[nodiscard]] asio::awaitable<Hello> greet(Connection& connection, const Secret& secret, Hello ours,
                                           Deadline deadline);

} // namespace uzushio::staging::socket
