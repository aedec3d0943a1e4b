// Hostile, faulty or dead peers are disconnected within their limits, without effect on others.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "staging/transport/socket/handshake.hpp"
#include "staging/transport/socket/listener.hpp"
#include "staging/wire/crc32c.hpp"
#include "support/raw_peer.hpp"
#include "support/socket_reader.hpp"

namespace uzushio::staging {
namespace {

using namespace std::chrono_literals;
using testing::Bytes;
using testing::CheckingReader;
using testing::Folder;
using testing::HandMadeWriter;
using testing::messages_in;
using testing::RawClient;
using testing::RawReader;
using testing::text_of;

constexpr auto long_enough = 60s;

/// Fixture with a writer, and a reader that reads and checks steps during an attack.
class StagingSocketHostile : public ::testing::Test {
  protected:
    static HandMadeWriter::Options writer_options() {
        HandMadeWriter::Options options;
        options.shape.ranks = 2;
        options.shape.elements = {24, 20, 30};
        options.queue.depth = 4;
        return options;
    }

    void SetUp() override {
        good_ = std::thread([this] {
            try {
                CheckingReader reader((folder_ / "c").string());
                while (reader.next(long_enough) == StepStatus::step) {
                    if (!reader.holds())
                        ++wrong_;
                    reader.release();
                    ++steps_;
                }
            } catch (const std::exception& error) {
                const std::lock_guard lock(mutex_);
                said_ = error.what();
            }
        });
        publisher_ = std::thread([this] {
            while (!stop_) {
                writer_.publish();
                std::this_thread::sleep_for(5ms);
            }
            writer_.close();
        });
    }
    void TearDown() override {
        check_reader();
        stop_ = true;
        publisher_.join();
        good_.join();
        EXPECT_EQ(wrong_, 0u);
        EXPECT_EQ(said_, "");
    }
    void check_reader() {
        const std::uint64_t before = steps_;
        const auto end = std::chrono::steady_clock::now() + long_enough;
        while (steps_ < before + 3 && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(2ms);
        EXPECT_GE(steps_, before + 3) << "the authenticated reader must receive further steps";
    }

    [[nodiscard]] RawReader proved(Channel channel, std::uint32_t target = 0) {
        const std::string address =
            target == 0 ? writer_.address() : writer_.service(target).endpoint().address;
        return {address, writer_.secret(), "flow", channel, target};
    }

    Folder folder_;
    HandMadeWriter writer_{folder_ / "c", writer_options()};

  private:
    std::atomic<std::uint64_t> steps_ = 0, wrong_ = 0;
    std::atomic<bool> stop_ = false;
    std::mutex mutex_;
    std::string said_;
    std::thread good_, publisher_;
};

Bytes noise(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    Bytes bytes(size);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random());
    return bytes;
}

Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Hello hello() {
    Hello hello;
    hello.stream = "flow";
    return hello;
}

Bytes first_half(const Bytes& bytes) {
    return {bytes.begin(), bytes.begin() + std::ssize(bytes) / 2};
}

/// Return a frame that is valid except for an excessive length.
Bytes giant() {
    Bytes bytes = encode(hello());
    bytes.resize(FrameHeader::size);
    for (std::size_t i = 8; i < 12; ++i)
        bytes[i] = std::byte{0x7f};
    return bytes;
}

TEST_F(StagingSocketHostile, NoPeerIsServedWithoutTheSecret) {
    const Challenge challenge{};
    Hello old = hello();
    old.version = 99;
    Bytes flipped = encode(hello());
    flipped.back() ^= std::byte{1};
    PieceRequest piece;
    piece.components = 1;
    struct {
        const char* what;
        Bytes sent;
        std::optional<ErrorCode> error; ///< of the last message before the end, if any
    } const cases[] = {
        {"noise", noise(100'000, 1), ErrorCode::protocol},
        {"a little noise", noise(16, 2), ErrorCode::protocol},
        {"HTTP", Bytes(20, std::byte{'G'}), ErrorCode::protocol},
        {"a giant length", giant(), ErrorCode::protocol},
        {"a damaged Hello", flipped, ErrorCode::protocol},
        {"another version", encode(old) + encode(challenge), ErrorCode::version},
        {"a request at once", encode(piece), ErrorCode::protocol},
        {"Next at once", encode(Next{}), ErrorCode::protocol},
        {"no challenge", encode(hello()) + encode(Response{}), ErrorCode::protocol},
        {"two Hellos", encode(hello()) + encode(hello()), ErrorCode::protocol},
        {"a made up response", encode(hello()) + encode(challenge) + encode(Response{}),
         ErrorCode::authentication},
        {"a request instead of a response", encode(hello()) + encode(challenge) + encode(piece),
         ErrorCode::protocol},
        // These wait, and are disconnected after the handshake's timeout.
        {"nothing", {}, {}},
        {"half a frame", first_half(encode(hello())), {}},
        {"half a handshake", encode(hello()) + encode(challenge), {}},
    };
    std::vector<RawClient> clients;
    for (const auto& c : cases) {
        clients.emplace_back(writer_.address());
        clients.back().send(c.sent);
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
        const auto answer = clients[i].until_closed(20s);
        ASSERT_TRUE(answer) << cases[i].what << " is not dropped";
        const auto messages = messages_in(*answer);
        for (const Message& message : messages)
            EXPECT_TRUE(std::holds_alternative<Hello>(message) ||
                        std::holds_alternative<Challenge>(message) ||
                        std::holds_alternative<Error>(message))
                << cases[i].what << " was answered as if it were authenticated";
        if (!cases[i].error)
            continue;
        ASSERT_FALSE(messages.empty()) << cases[i].what;
        ASSERT_TRUE(std::holds_alternative<Error>(messages.back())) << cases[i].what;
        EXPECT_EQ(std::get<Error>(messages.back()).code, *cases[i].error) << cases[i].what;
    }
    EXPECT_EQ(writer_.queue().readers(), 1u);
}

TEST_F(StagingSocketHostile, ARecordedHandshakeCannotBeReplayed) {
    // A reader connects through a process that records all bytes.
    RawClient listening;
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    ASSERT_EQ(::bind(listening.get(), reinterpret_cast<sockaddr*>(&place), size), 0);
    ASSERT_EQ(::listen(listening.get(), 1), 0);
    ASSERT_EQ(::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&place), &size), 0);
    const std::string here = "127.0.0.1:" + std::to_string(ntohs(place.sin_port));
    Bytes from_client, from_server;
    std::thread between([&] {
        const RawClient down(::accept(listening.get(), nullptr, nullptr));
        const RawClient up(writer_.address());
        for (bool open = true; open;) {
            pollfd ready[] = {{down.get(), POLLIN, 0}, {up.get(), POLLIN, 0}};
            if (::poll(ready, 2, 30'000) <= 0)
                break;
            for (const int from : {0, 1}) {
                if (ready[from].revents == 0)
                    continue;
                Bytes some(4096);
                const ssize_t got = ::recv(ready[from].fd, some.data(), some.size(), 0);
                some.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
                open = open && !some.empty();
                (from == 0 ? up : down).send(some);
                Bytes& record = from == 0 ? from_client : from_server;
                record.insert(record.end(), some.begin(), some.end());
            }
        }
    });
    {
        RawReader overheard(here, writer_.secret(), "flow", Channel::control);
        EXPECT_TRUE(std::holds_alternative<Endpoints>(overheard.receive()));
    }
    between.join();
    ASSERT_EQ(messages_in(from_client).size(), 3u);

    const RawClient replaying(writer_.address());
    replaying.send(from_client);
    const auto answer = replaying.until_closed(20s);
    ASSERT_TRUE(answer);
    const auto messages = messages_in(*answer);
    ASSERT_TRUE(std::holds_alternative<Error>(messages.back()));
    EXPECT_EQ(std::get<Error>(messages.back()).code, ErrorCode::authentication);

    // The writer's own messages do not authenticate a peer that returns them.
    const RawClient reflecting(writer_.address());
    reflecting.send(from_server);
    const auto reflected = reflecting.until_closed(20s);
    ASSERT_TRUE(reflected);
    ASSERT_TRUE(std::holds_alternative<Error>(messages_in(*reflected).back()));
}

TEST_F(StagingSocketHostile, ManySilentPeersDoNotExcludeReaders) {
    std::vector<RawClient> silent_peers;
    for (int i = 0; i < 300; ++i)
        silent_peers.emplace_back(writer_.address());
    CheckingReader reader((folder_ / "c").string());
    ASSERT_EQ(reader.next(long_enough), StepStatus::step);
    EXPECT_TRUE(reader.holds());
    for (const RawClient& peer : silent_peers)
        EXPECT_TRUE(peer.until_closed(20s)) << "a silent peer is not disconnected";
}

TEST_F(StagingSocketHostile, APeerThatViolatesTheProtocolIsDisconnectedWithAReason) {
    PieceRequest piece;
    struct {
        Channel channel;
        Bytes sent;
        const char* message;
    } const cases[] = {
        {Channel::control, encode(Release{12345}), "does not have it"},
        {Channel::control, encode(piece), "may only ask"},
        {Channel::control, encode(hello()), "may only ask"},
        {Channel::control, encode(Announce{}), "may only ask"},
        {Channel::control, noise(200, 3), "not a message"},
        {Channel::control, giant(), "larger than"},
        {Channel::data, encode(Next{}), "only pieces"},
        {Channel::data, encode(PieceData{}), "only pieces"},
        {Channel::data, noise(200, 4), "not a message"},
        {Channel::data, giant(), "larger than"},
    };
    for (const auto& c : cases) {
        RawReader bad = proved(c.channel);
        if (c.channel == Channel::control) {
            ASSERT_TRUE(std::holds_alternative<Endpoints>(bad.receive()));
        }
        bad.send(c.sent);
        const Message answer = bad.receive();
        ASSERT_TRUE(std::holds_alternative<Error>(answer)) << c.message;
        EXPECT_EQ(std::get<Error>(answer).code, ErrorCode::protocol);
        EXPECT_NE(std::get<Error>(answer).text.find(c.message), std::string::npos)
            << std::get<Error>(answer).text;
        EXPECT_THROW((void)bad.receive(), PeerGone);
    }
}

TEST_F(StagingSocketHostile, AStepThatAnotherReaderHoldsCannotBeReleased) {
    CheckingReader holder((folder_ / "c").string());
    ASSERT_EQ(holder.next(long_enough), StepStatus::step);
    RawReader thief = proved(Channel::control);
    ASSERT_TRUE(std::holds_alternative<Endpoints>(thief.receive()));
    thief.send(Release{holder.step().sequence});
    EXPECT_TRUE(std::holds_alternative<Error>(thief.receive()));
    check_reader();
    EXPECT_TRUE(holder.holds());
}

TEST_F(StagingSocketHostile, TheWaitForTheRestOfAMessageTimesOut) {
    const Bytes whole = encode(PieceRequest{});
    RawReader control = proved(Channel::control);
    RawReader data = proved(Channel::data);
    ASSERT_TRUE(std::holds_alternative<Endpoints>(control.receive()));
    control.send(Bytes(whole.begin(), whole.begin() + 20));
    data.send(Bytes(whole.begin(), whole.begin() + 20));
    EXPECT_THROW((void)control.receive(20s), PeerGone);
    EXPECT_THROW((void)data.receive(20s), PeerGone);
}

TEST_F(StagingSocketHostile, ConnectionsForOthersAreRefused) {
    const auto refused = [&](Channel channel, std::uint32_t asked, std::uint32_t named,
                             const std::string& stream) {
        return text_of<socket::Refused>([&] {
            RawReader(writer_.service(asked).endpoint().address, writer_.secret(), stream, channel,
                      named);
        });
    };
    EXPECT_NE(refused(Channel::data, 1, 0, "flow").find("Here is rank 1"), std::string::npos);
    EXPECT_NE(refused(Channel::data, 0, 7, "flow").find("Here is rank 0"), std::string::npos);
    EXPECT_NE(refused(Channel::control, 1, 0, "flow").find("Here is rank 1"), std::string::npos);
    EXPECT_NE(refused(Channel::data, 0, 0, "other").find("The stream here"), std::string::npos);
}

TEST_F(StagingSocketHostile, InvalidPiecesAreRefusedAndTheNextRequestIsAnswered) {
    CheckingReader holder((folder_ / "c").string());
    ASSERT_EQ(holder.next(long_enough), StepStatus::step);
    RawReader asking = proved(Channel::data, 1);
    PieceRequest good;
    good.sequence = holder.step().sequence;
    good.block = 1;
    good.source = Box::at({1, 1, 1}, {2, 3, 4});
    constexpr std::int64_t huge = std::int64_t{1} << 62;
    std::vector<PieceRequest> bad(9, good);
    bad[0].block = 0; // of another rank
    bad[1].block = 2;
    bad[2].array = 1;
    bad[3].source = {{0, 0, 0}, {1000, 1, 1}};
    bad[4].source = Box::at({-1, 0, 0}, {1, 1, 1});
    bad[5].source = {{0, 0, 0}, {huge, huge, huge}};
    bad[6].source = Box::at({huge, huge, huge}, {1, 1, 1});
    bad[7].components = 0xffffffff;
    bad[8].sequence = 1'000'000'000;
    for (const PieceRequest& request : bad) {
        asking.send(request);
        const Message answer = asking.receive();
        ASSERT_TRUE(std::holds_alternative<Error>(answer));
        EXPECT_EQ(std::get<Error>(answer).code,
                  request.sequence == good.sequence ? ErrorCode::request : ErrorCode::gone);

        asking.send(good);
        const Message data = asking.receive();
        ASSERT_TRUE(std::holds_alternative<PieceData>(data));
        EXPECT_EQ(std::get<PieceData>(data).bytes, 2u * 3 * 4 * 4);
        EXPECT_FALSE(std::get<PieceData>(data).checksum);
        (void)asking.receive_bytes(2 * 3 * 4 * 4);
    }
    good.checksum = true;
    asking.send(good);
    const Message data = asking.receive();
    EXPECT_EQ(std::get<PieceData>(data).checksum, crc32c(asking.receive_bytes(2 * 3 * 4 * 4)));
}

TEST_F(StagingSocketHostile, AFloodOfRequestsDelaysNoOtherReader) {
    CheckingReader holder((folder_ / "c").string());
    ASSERT_EQ(holder.next(long_enough), StepStatus::step);
    PieceRequest request;
    request.sequence = holder.step().sequence;
    request.source = {{}, {12, 20, 30}};
    RawReader flooding = proved(Channel::data);
    RawReader nagging = proved(Channel::control);
    Bytes requests, nexts;
    for (int i = 0; i < 200; ++i)
        requests = std::move(requests) + encode(request);
    for (int i = 0; i < 20'000; ++i)
        nexts = std::move(nexts) + encode(Next{});
    std::atomic<bool> stop = false;
    // Requests exceed all buffers, and the answers are not read: sending blocks until the writer
    // stops.
    flooding.send(requests);
    std::thread nag([&] {
        for (int i = 0; i < 5 && !stop; ++i)
            nagging.send(nexts);
    });
    for (int i = 0; i < 5; ++i)
        check_reader();
    EXPECT_TRUE(holder.holds());
    EXPECT_LE(writer_.queue().counters().steps, 4u);
    stop = true;
    nag.join();
}

TEST_F(StagingSocketHostile, ReadersThatDieReleaseTheirSteps) {
    check_reader(); // attached
    for (int i = 0; i < 5; ++i) {
        RawReader dying = proved(Channel::control);
        ASSERT_TRUE(std::holds_alternative<Endpoints>(dying.receive()));
        dying.send(Next{});
        ASSERT_TRUE(std::holds_alternative<Announce>(dying.receive()));
    } // the connection is closed without a message
    const auto end = std::chrono::steady_clock::now() + long_enough;
    while (writer_.queue().readers() > 1 && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(5ms);
    EXPECT_EQ(writer_.queue().readers(), 1u);
}

TEST_F(StagingSocketHostile, AWriterOutOfDescriptorsAcceptsReadersWhenSomeAreFree) {
    check_reader(); // its connections exist in this process now
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    RawClient waiting;
    rlimit none = before;
    none.rlim_cur = 3; // no further descriptors
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    waiting.connect(writer_.address());
    std::this_thread::sleep_for(300ms);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    waiting.send(noise(100, 5));
    const auto answer = waiting.until_closed(20s);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(std::holds_alternative<Error>(messages_in(*answer).at(0)))
        << "the connection was not accepted";
}

/// Writer with the right secret and arbitrary answers, which readers must check.
class InvalidWriter {
  public:
    using Answer = std::function<Bytes(const PieceRequest&)>;

    InvalidWriter(const socket::Secret& secret, Answer answer) : answer_(std::move(answer)) {
        Hello ours;
        ours.role = Role::writer;
        ours.stream = "flow";
        listener_.emplace(
            io_, EngineOptions::Tcp{}, secret, ours,
            [](const Hello&) { return std::optional<Error>(); },
            [this](std::shared_ptr<socket::Connection> peer, Hello hello) {
                return serve(std::move(peer), std::move(hello));
            });
        listener_->start();
        thread_ = std::thread([this] { io_.run(); });
    }
    ~InvalidWriter() {
        io_.stop();
        thread_.join();
    }
    [[nodiscard]] const std::string& address() const { return listener_->address(); }

  private:
    asio::awaitable<void> serve(std::shared_ptr<socket::Connection> peer, Hello theirs) {
        Bytes bytes;
        if (theirs.channel == Channel::control) {
            Endpoints endpoints;
            endpoints.ranks.push_back({address(), ""});
            bytes = encode(endpoints) + encode(Announce{0, {}, testing::make_step({}, 0)});
        } else {
            const auto incoming = co_await peer->receive(DecodeLimits{}, socket::never, 1s);
            const Message message = incoming.message();
            bytes = answer_(std::get<PieceRequest>(message));
        }
        co_await peer->send(std::span<const std::byte>(bytes), 10s);
        (void)co_await peer->receive(DecodeLimits{}, socket::after(30s), 30s);
        (void)co_await peer->receive(DecodeLimits{}, socket::after(30s), 30s);
    }

    Answer answer_;
    asio::io_context io_{1};
    std::optional<socket::Listener> listener_;
    std::thread thread_;
};

TEST(StagingSocketInvalidWriter, AnswersWithoutARequestAreAnErrorWithASentence) {
    constexpr std::size_t size = 12 * 10 * 8 * 4;
    const Bytes values(size, std::byte{1});
    const auto data = [](std::uint64_t request, std::uint64_t offset, std::uint64_t bytes,
                         std::optional<std::uint32_t> sum = {}) {
        return encode(PieceData{request, offset, bytes, sum});
    };
    struct {
        const char* what;
        Bytes answer;
        const char* message;
    } const cases[] = {
        {"another request", data(5, 0, size) + values, "do not continue"},
        {"another place", data(0, 4, size - 4) + values, "do not continue"},
        {"too much", data(0, 0, size + 1) + values, "do not continue"},
        {"far too much", data(0, 0, ~std::uint64_t{0}) + values, "do not continue"},
        {"nothing", data(0, 0, 0), "do not continue"},
        {"the same part twice",
         data(0, 0, 8, crc32c(std::span(values).first(8))) + Bytes(8, std::byte{1}) +
             data(0, 0, 8, 0u) + values,
         "do not continue"},
        {"no checksum", data(0, 0, size) + values, "without the requested checksum"},
        {"a wrong checksum", data(0, 0, size, 77u) + values, "damaged in transit"},
        {"something else", encode(Next{}), "other than the requested values"},
        {"noise", noise(1000, 9), "not a message"},
        {"an error", encode(Error{ErrorCode::internal, "The disk is full."}), "The disk is full."},
    };
    for (const auto& c : cases) {
        const socket::Secret secret = socket::make_secret();
        InvalidWriter writer(secret, [&](const PieceRequest&) { return c.answer; });
        ReaderOptions options;
        options.secret = socket::to_text(secret);
        options.verify = true;
        CheckingReader reader(writer.address(), options);
        ASSERT_EQ(reader.next(long_enough), StepStatus::step);
        const std::string message =
            text_of<StagingError>([&] { (void)reader.read(reader.everything()); });
        EXPECT_NE(message.find(c.message), std::string::npos) << c.what << ": " << message;
    }
}

TEST(StagingSocketInvalidWriter, TheWaitForASilentWriterTimesOut) {
    const socket::Secret secret = socket::make_secret();
    InvalidWriter writer(secret, [](const PieceRequest&) {
        return encode(PieceData{0, 0, 100, {}}) + Bytes(50); // half of the announced bytes
    });
    ReaderOptions options;
    options.secret = socket::to_text(secret);
    options.answer_limit = 300ms;
    CheckingReader reader(writer.address(), options);
    ASSERT_EQ(reader.next(long_enough), StepStatus::step);
    const std::string message =
        text_of<PeerSilent>([&] { (void)reader.read(reader.everything()); });
    EXPECT_NE(message.find("has sent nothing for 0.3 s"), std::string::npos) << message;
}

TEST(StagingSocketInvalidWriter, APeerWithoutTheSecretIsNotAcceptedAsTheWriter) {
    InvalidWriter writer(socket::make_secret(), [](const PieceRequest&) { return Bytes(); });
    ReaderOptions options;
    options.secret = socket::to_text(socket::make_secret());
    EXPECT_THROW(CheckingReader(writer.address(), options), StagingError);
}

} // namespace
} // namespace uzushio::staging
