#include "staging/transport/socket/handshake.hpp"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "staging/require.hpp"
#include "staging/transport/socket/hmac.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

constexpr auto no_extra = std::chrono::nanoseconds(0); // the deadline applies to whole messages
constexpr std::size_t max_error_text = 250;            // see DecodeLimits::handshake()

/// Messages of both sides that the responses authenticate.
struct HandshakeTranscript {
    std::vector<std::byte> client; ///< Hello and Challenge, encoded
    std::vector<std::byte> server;
};

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

std::vector<std::byte> opening(const Hello& hello) {
    Challenge challenge;
    require(RAND_bytes(reinterpret_cast<unsigned char*>(challenge.nonce.data()),
                       static_cast<int>(challenge.nonce.size())) == 1,
            "The system returned no random number for a challenge.");
    std::vector<std::byte> bytes = encode(hello);
    append(bytes, encode(challenge));
    return bytes;
}

AuthCode proof(const Secret& secret, ConnectionRole of, const HandshakeTranscript& transcript) {
    const std::string_view label = of == ConnectionRole::client
                                       ? "uzushio staging: who connects knows"
                                       : "uzushio staging: who accepts knows";
    std::vector<std::byte> text;
    append(text, std::as_bytes(std::span(label)));
    append(text, transcript.client);
    append(text, transcript.server);
    return hmac(secret, text);
}

/// Replace control characters of a peer's text before it is printed.
std::string readable(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 32 || c == 127)
            c = '?';
    return text;
}

std::chrono::nanoseconds left(Deadline deadline) { return deadline - Clock::now(); }

/// Receive a message of the expected kind. Limits are small, because the peer is not
/// authenticated.
template <class Kind>
asio::awaitable<Kind> expect(Connection& connection, std::vector<std::byte>& said,
                             Deadline deadline) {
    const ReceivedMessage received =
        co_await connection.receive(DecodeLimits::handshake(), deadline, no_extra);
    append(said, received.bytes);
    const Message message = received.message(DecodeLimits::handshake());
    if (const auto* error = std::get_if<Error>(&message))
        throw Refused(error->code, readable(error->text));
    if (const auto* kind = std::get_if<Kind>(&message))
        co_return *kind;
    throw DecodeError("A message of another kind was expected.");
}

/// Receive Hello and Challenge. Versions are compared first: the version is the first field of
/// Hello in every version.
asio::awaitable<Hello> expect_opening(Connection& connection, std::vector<std::byte>& said,
                                      Deadline deadline) {
    Hello hello;
    std::optional<std::string> fault;
    try {
        hello = co_await expect<Hello>(connection, said, deadline);
    } catch (const DecodeError& error) {
        fault = error.what();
    }
    const bool is_hello =
        said.size() >= FrameHeader::size + 4 && said[4] == std::byte{1} && said[5] == std::byte{0};
    if (fault && is_hello)
        for (std::size_t i = 4; i-- > 0;)
            hello.version =
                hello.version << 8 | std::to_integer<std::uint32_t>(said[FrameHeader::size + i]);
    if (hello.version != protocol_version)
        throw Refused(ErrorCode::version,
                      sentence("The two sides use versions ", protocol_version, " and ",
                               hello.version,
                               " of the protocol: use the same version of Uzushio for both."));
    if (fault)
        throw DecodeError(*fault);
    (void)co_await expect<Challenge>(connection, said, deadline);
    co_return hello;
}

asio::awaitable<Hello> run_server_handshake(Connection& connection, const Secret& secret,
                                            Hello ours, const AdmissionCheck& admission,
                                            Deadline deadline) {
    HandshakeTranscript transcript;
    const Hello theirs = co_await expect_opening(connection, transcript.client, deadline);
    ours.channel = theirs.channel;
    transcript.server = opening(ours);
    co_await connection.send(std::span<const std::byte>(transcript.server), left(deadline));

    std::vector<std::byte> ignored;
    const Response response = co_await expect<Response>(connection, ignored, deadline);
    if (!equal_in_constant_time(response.code, proof(secret, ConnectionRole::client, transcript)))
        throw Refused(
            ErrorCode::authentication,
            "The secret does not match that of the writer: use its contact file as it is now.");
    if (const auto error = admission(theirs))
        throw Refused(error->code, error->text);
    const auto bytes = encode(Response{proof(secret, ConnectionRole::server, transcript)});
    co_await connection.send(std::span<const std::byte>(bytes), left(deadline));
    co_return theirs;
}

} // namespace

asio::awaitable<void> refuse(Connection& connection, Error error, Deadline deadline) {
    error.text.resize(std::min(error.text.size(), max_error_text));
    const auto bytes = encode(error);
    try {
        co_await connection.send(std::span<const std::byte>(bytes), left(deadline));
        // Closing with unread input would reset the connection before the answer arrives.
        connection.shutdown_send();
        std::array<std::byte, 4096> rest;
        const iovec buffer{rest.data(), rest.size()};
        const Deadline end = std::min(deadline, after(std::chrono::seconds(1)));
        for (int i = 0; i < 16; ++i)
            (void)co_await connection.read_some(std::span(&buffer, 1), end);
    } catch (const StagingError&) { // the peer has closed before
    }
}

asio::awaitable<Hello> authenticate_as_server(Connection& connection, const Secret& secret,
                                              Hello ours, const AdmissionCheck& admission,
                                              Deadline deadline) {
    Error error;
    try {
        co_return co_await run_server_handshake(connection, secret, std::move(ours), admission,
                                                deadline);
    } catch (const Refused& refused) {
        error = {refused.code(), refused.what()};
    } catch (const DecodeError& fault) {
        error = {ErrorCode::protocol, fault.what()};
    }
    co_await refuse(connection, error, deadline);
    throw Refused(error.code, error.text);
}

asio::awaitable<Hello> authenticate_as_client(Connection& connection, const Secret& secret,
                                              Hello ours, Deadline deadline) {
    HandshakeTranscript transcript;
    transcript.client = opening(ours);
    co_await connection.send(std::span<const std::byte>(transcript.client), left(deadline));
    const Hello theirs = co_await expect_opening(connection, transcript.server, deadline);
    const auto bytes = encode(Response{proof(secret, ConnectionRole::client, transcript)});
    co_await connection.send(std::span<const std::byte>(bytes), left(deadline));

    std::vector<std::byte> ignored;
    const Response response = co_await expect<Response>(connection, ignored, deadline);
    if (!equal_in_constant_time(response.code, proof(secret, ConnectionRole::server, transcript)))
        throw Refused(
            ErrorCode::authentication,
            "The process at the other end does not know the secret: it is not the writer.");
    co_return theirs;
}

} // namespace uzushio::staging::socket
