#include "staging/transport/socket/handshake.hpp"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "staging/transport/socket/hmac.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

constexpr auto no_extra = std::chrono::nanoseconds(0); // the deadline holds for whole messages
constexpr std::size_t most_text = 250;                 // see Limits::handshake()

/// What was said until it is to be proved.
struct Talk {
    std::vector<std::byte> connects; ///< Hello and Challenge, encoded
    std::vector<std::byte> accepts;
};

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

std::vector<std::byte> opening(const Hello& hello) {
    Challenge challenge;
    if (RAND_bytes(reinterpret_cast<unsigned char*>(challenge.nonce.data()),
                   static_cast<int>(challenge.nonce.size())) != 1)
        throw StagingError("The system has no randomness for a challenge.");
    std::vector<std::byte> bytes = encode(hello);
    append(bytes, encode(challenge));
    return bytes;
}

Code proof(const Secret& secret, Side of, const Talk& talk) {
    const std::string_view label = of == Side::connects ? "uzushio staging: who connects knows"
                                                        : "uzushio staging: who accepts knows";
    std::vector<std::byte> text;
    append(text, std::as_bytes(std::span(label)));
    append(text, talk.connects);
    append(text, talk.accepts);
    return hmac(secret, text);
}

/// A peer's text on its way to the user's terminal.
std::string readable(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 32 || c == 127)
            c = '?';
    return text;
}

std::chrono::nanoseconds left(Deadline deadline) { return deadline - Clock::now(); }

/// A message of the kind that is due. The peer is a stranger: little is accepted.
template <class Kind>
asio::awaitable<Kind> expect(Connection& connection, std::vector<std::byte>& said,
                             Deadline deadline) {
    const Incoming incoming = co_await connection.receive(Limits::handshake(), deadline, no_extra);
    append(said, incoming.bytes);
    const Message message = incoming.message(Limits::handshake());
    if (const auto* error = std::get_if<Error>(&message))
        throw Refused(error->code, readable(error->text));
    if (const auto* kind = std::get_if<Kind>(&message))
        co_return *kind;
    throw DecodeError("A message came out of turn.");
}

/// Hello and Challenge of the other side. Versions are compared before anything else is read: the
/// version comes first in every version of Hello.
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
        said.size() >= Frame::size + 4 && said[4] == std::byte{1} && said[5] == std::byte{0};
    if (fault && is_hello)
        for (std::size_t i = 4; i-- > 0;)
            hello.version =
                hello.version << 8 | std::to_integer<std::uint32_t>(said[Frame::size + i]);
    if (hello.version != protocol_version)
        throw Refused(ErrorCode::version, "The two sides speak versions " +
                                              std::to_string(protocol_version) + " and " +
                                              std::to_string(hello.version) +
                                              " of the protocol: use the same version of Uzushio "
                                              "for both.");
    if (fault)
        throw DecodeError(*fault);
    (void)co_await expect<Challenge>(connection, said, deadline);
    co_return hello;
}

asio::awaitable<void> refuse(Connection& connection, Error error, Deadline deadline) {
    error.text.resize(std::min(error.text.size(), most_text));
    const auto bytes = encode(error);
    try {
        co_await connection.send(std::span<const std::byte>(bytes), left(deadline));
        // To close with input unread would cut the answer off on its way.
        connection.finish();
        std::array<std::byte, 4096> rest;
        const iovec buffer{rest.data(), rest.size()};
        const Deadline end = std::min(deadline, after(std::chrono::seconds(1)));
        for (int i = 0; i < 16; ++i)
            (void)co_await connection.read_some(std::span(&buffer, 1), end);
    } catch (const StagingError&) { // it was told as far as it can be
    }
}

asio::awaitable<Hello> accept_proved(Connection& connection, const Secret& secret, Hello ours,
                                     const Screen& screen, Deadline deadline) {
    Talk talk;
    const Hello theirs = co_await expect_opening(connection, talk.connects, deadline);
    ours.channel = theirs.channel;
    talk.accepts = opening(ours);
    co_await connection.send(std::span<const std::byte>(talk.accepts), left(deadline));

    std::vector<std::byte> ignored;
    const Response response = co_await expect<Response>(connection, ignored, deadline);
    if (!same(response.code, proof(secret, Side::connects, talk)))
        throw Refused(ErrorCode::authentication,
                      "The secret is not that of the writer: use its contact file as it is now.");
    if (const auto error = screen(theirs))
        throw Refused(error->code, error->text);
    const auto bytes = encode(Response{proof(secret, Side::accepts, talk)});
    co_await connection.send(std::span<const std::byte>(bytes), left(deadline));
    co_return theirs;
}

} // namespace

asio::awaitable<Hello> accept(Connection& connection, const Secret& secret, Hello ours,
                              const Screen& screen, Deadline deadline) {
    Error error;
    try {
        co_return co_await accept_proved(connection, secret, std::move(ours), screen, deadline);
    } catch (const Refused& refused) {
        error = {refused.code(), refused.what()};
    } catch (const DecodeError& fault) {
        error = {ErrorCode::protocol, fault.what()};
    }
    co_await refuse(connection, error, deadline);
    throw Refused(error.code, error.text);
}

asio::awaitable<Hello> greet(Connection& connection, const Secret& secret, Hello ours,
                             Deadline deadline) {
    Talk talk;
    talk.connects = opening(ours);
    co_await connection.send(std::span<const std::byte>(talk.connects), left(deadline));
    const Hello theirs = co_await expect_opening(connection, talk.accepts, deadline);
    const auto bytes = encode(Response{proof(secret, Side::connects, talk)});
    co_await connection.send(std::span<const std::byte>(bytes), left(deadline));

    std::vector<std::byte> ignored;
    const Response response = co_await expect<Response>(connection, ignored, deadline);
    if (!same(response.code, proof(secret, Side::accepts, talk)))
        throw Refused(ErrorCode::authentication,
                      "What answers there does not know the secret: it is not the writer.");
    co_return theirs;
}

} // namespace uzushio::staging::socket
