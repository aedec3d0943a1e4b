// ranks: 1 2 3
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "staging/datamodel/read_planner.hpp"
#include "staging/relay/relay.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/transport/socket/address.hpp"
#include "staging/transport/socket/contact.hpp"
#include "staging/transport/socket/source.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/select.hpp"
#include "support/other_process.hpp"
#include "support/socket_writer.hpp"
#include "support/staging_sides.hpp"

namespace uzushio::staging::relay {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using socket::SocketSource;
using staging::test::OtherProcess;
using staging::testing::Folder;
using staging::testing::HandMadeWriter;
using staging::testing::Shape;
using Clock = std::chrono::steady_clock;

/// Thread that runs a relay of one rank.
class RelayThread {
  public:
    explicit RelayThread(RelayOptions options)
        : relay_(std::move(options), alone_), thread_([this] {
              try {
                  relay_.run([this] {
                      status_ = relay_.status();
                      ++looks_;
                      return !stop_;
                  });
              } catch (const std::exception& error) {
                  ADD_FAILURE() << "the relay failed: " << error.what();
              }
              over_ = true;
          }) {}
    ~RelayThread() { stop(); }

    void stop() {
        stop_ = true;
        if (thread_.joinable())
            thread_.join();
    }
    [[nodiscard]] bool over() const { return over_; }
    /// Return a status taken after this call.
    [[nodiscard]] RelayStatus status() const {
        for (const int before = looks_; looks_ < before + 2 && !over_;)
            std::this_thread::sleep_for(10ms);
        return status_;
    }

  private:
    parallel::CollectiveGroup alone_ = stream_group();
    Relay relay_;
    std::atomic<bool> stop_ = false;
    std::atomic<bool> over_ = false;
    std::atomic<int> looks_ = 0;
    RelayStatus status_; ///< read after the relay's thread has written it
    std::thread thread_;
};

RelayOptions between(const fs::path& from, const fs::path& to, bool once = false) {
    RelayOptions options;
    options.from = from.string();
    options.to = to;
    options.once = once;
    return options;
}

std::unique_ptr<SocketSource> attach(const fs::path& contact,
                                     std::chrono::nanoseconds limit = 20s) {
    ReaderOptions options;
    options.attach_limit = limit;
    options.answer_limit = 20s;
    return std::make_unique<SocketSource>(contact.string(), stream_group(), options);
}

Announce announced(const AnnouncedStep& answer) {
    const auto& bytes = *answer.message;
    const FrameHeader frame = decode_frame_header(std::span(bytes).first<FrameHeader::size>());
    return std::get<Announce>(decode(frame, std::span(bytes).subspan(FrameHeader::size)));
}

/// Read and check all of the next step; return its sequence number.
std::uint64_t take_step(SocketSource& source, const Shape& shape) {
    const AnnouncedStep answer = source.next(20s);
    if (answer.status != StepStatus::step) {
        ADD_FAILURE() << "no step";
        return 0;
    }
    const Announce step = announced(answer);
    const Extent n = shape.elements;
    std::vector<float> values(static_cast<std::size_t>(n[0] * n[1] * n[2] * shape.components));
    const ArrayView to =
        packed_view(reinterpret_cast<std::byte*>(values.data()), n, shape.components, 4);
    std::vector<Fetch> wanted;
    for (const auto& piece : ReadPlanner(step.step, 0).plan({{}, n}).pieces)
        wanted.push_back(
            {piece.rank, request_of(step.step, piece, step.sequence, 0), to.sub(piece.target)});
    source.fetch(step, wanted, 20s);
    std::size_t wrong = 0, at = 0;
    for (std::int64_t z = 0; z < n[0]; ++z)
        for (std::int64_t y = 0; y < n[1]; ++y)
            for (std::int64_t x = 0; x < n[2]; ++x)
                for (std::int64_t c = 0; c < shape.components; ++c)
                    wrong += values[at++] != staging::testing::value_at(step.sequence, n, z, y, x,
                                                                        c, shape.components);
    EXPECT_EQ(wrong, 0u) << "wrong values in step " << step.sequence;
    source.end(step);
    return step.sequence;
}

bool eventually(const std::function<bool()>& holds, std::chrono::nanoseconds limit = 20s) {
    for (const auto end = Clock::now() + limit; Clock::now() < end;) {
        if (holds())
            return true;
        std::this_thread::sleep_for(10ms);
    }
    return holds();
}

HandMadeWriter::Options writer_of(std::uint32_t ranks, Extent elements = {12, 10, 8}) {
    HandMadeWriter::Options options;
    options.shape.ranks = ranks;
    options.shape.elements = elements;
    options.shape.components = 3;
    options.queue.policy = QueuePolicy::block;
    options.queue.depth = 4;
    return options;
}

class StagingRelay : public ::testing::Test {
  protected:
    void SetUp() override {
        if (suite::world_size() != 1)
            GTEST_SKIP() << "the same on any number of ranks";
    }
    Folder folder_;
    fs::path near_ = folder_ / "near.contact";
    fs::path far_ = folder_ / "far.contact";
};

TEST_F(StagingRelay, ForwardsStepsAndTheEnd) {
    const auto options = writer_of(3);
    HandMadeWriter writer(near_, options);
    const RelayThread relay(between(near_, far_));
    auto source = attach(far_);
    EXPECT_EQ(source->stream(), "flow");
    for (std::uint64_t number = 0; number < 3; ++number) {
        ASSERT_TRUE(writer.publish());
        EXPECT_EQ(take_step(*source, options.shape), number);
        source->release(number);
    }
    EXPECT_EQ(relay.status().readers, 1u);
    EXPECT_EQ(relay.status().stream, "flow");
    writer.close();
    EXPECT_EQ(source->next(20s).status, StepStatus::ended);
}

TEST_F(StagingRelay, MayBeChainedWithDifferentSecretsAndKindsOfConnections) {
    auto options = writer_of(2, {40, 50, 60});
    options.tcp.tls = true;
    HandMadeWriter writer(near_, options);
    const fs::path middle = folder_ / "middle.contact";
    auto plain = between(near_, middle);
    auto safe = between(middle, far_);
    safe.listen.tls = true;
    const RelayThread first(plain), second(safe);
    auto source = attach(far_);
    for (std::uint64_t number = 0; number < 2; ++number) {
        ASSERT_TRUE(writer.publish());
        EXPECT_EQ(take_step(*source, options.shape), number);
        source->release(number);
    }
    EXPECT_NE(socket::read_contact(near_)->secret, socket::read_contact(middle)->secret);
    EXPECT_NE(socket::read_contact(middle)->secret, socket::read_contact(far_)->secret);
    writer.close();
    EXPECT_EQ(source->next(20s).status, StepStatus::ended);
}

TEST_F(StagingRelay, AcceptsReadersBeforeTheWriter) {
    const RelayThread relay(between(near_, far_));
    try {
        (void)attach(far_, 200ms);
        FAIL() << "attached without a writer";
    } catch (const PeerGone& error) {
        EXPECT_NE(std::string(error.what()).find("no writer at the other end"), std::string::npos)
            << error.what();
    }
    const auto options = writer_of(1);
    std::optional<HandMadeWriter> writer;
    std::thread later([&] {
        std::this_thread::sleep_for(300ms);
        writer.emplace(near_, options);
        writer->publish();
    });
    auto source = attach(far_);
    EXPECT_EQ(take_step(*source, options.shape), 0u);
    later.join();
}

TEST_F(StagingRelay, DetachesAReaderThatEndsOrDiesFromTheWriter) {
    HandMadeWriter writer(near_, writer_of(1));
    const RelayThread relay(between(near_, far_));
    auto source = attach(far_);
    EXPECT_TRUE(eventually([&] { return writer.queue().readers() == 1; }));
    source = nullptr; // detaches
    EXPECT_TRUE(eventually([&] { return writer.queue().readers() == 0; }, 5s));

    OtherProcess reader([&](const OtherProcess::Send&) {
        const auto held = attach(far_);
        (void)held->next(10s);
        ::pause();
    });
    EXPECT_TRUE(writer.publish());
    EXPECT_TRUE(eventually([&] { return writer.queue().counters().delivered == 1; }));
    reader.end();
    EXPECT_TRUE(eventually([&] { return writer.queue().readers() == 0; }, 5s))
        << "the step it held is not free";
    EXPECT_TRUE(eventually([&] { return relay.status().connections == 0; }));
}

TEST_F(StagingRelay, DisconnectsReadersOfADeadWriterAndFindsTheNextOne) {
    const auto options = writer_of(2);
    auto writer = std::make_unique<HandMadeWriter>(near_, options);
    const RelayThread relay(between(near_, far_));
    auto old = attach(far_);
    writer->publish();
    EXPECT_EQ(take_step(*old, options.shape), 0u);
    const socket::Contact contact = *socket::read_contact(far_);
    writer = nullptr; // dies
    EXPECT_THROW((void)old->next(20s), PeerGone);

    writer = std::make_unique<HandMadeWriter>(near_, options);
    writer->publish();
    auto source = attach(far_);
    EXPECT_EQ(*socket::read_contact(far_), contact) << "copies of the contact remain valid";
    EXPECT_EQ(take_step(*source, options.shape), 0u);
}

TEST_F(StagingRelay, NeverSendsDataOfTheNextWriterToAReaderOfTheLastOne) {
    const auto options = writer_of(1);
    auto writer = std::make_unique<HandMadeWriter>(near_, options);
    const RelayThread relay(between(near_, far_));
    auto old = attach(far_);
    writer->publish();
    const Announce step = announced(old->next(20s)); // no data requested yet
    writer = nullptr;
    writer = std::make_unique<HandMadeWriter>(near_, options);
    writer->publish(); // a step with the same sequence number
    auto source = attach(far_);
    EXPECT_EQ(take_step(*source, options.shape), 0u);

    std::vector<float> values(static_cast<std::size_t>(12 * 10 * 8 * 3), -1.0F);
    const ArrayView to =
        packed_view(reinterpret_cast<std::byte*>(values.data()), options.shape.elements, 3, 4);
    const auto piece = ReadPlanner(step.step, 0).plan({{}, options.shape.elements}).pieces.at(0);
    const std::vector<Fetch> wanted{{0, request_of(step.step, piece, 0, 0), to.sub(piece.target)}};
    try {
        old->fetch(step, wanted, 10s);
        ADD_FAILURE() << "data of another writer";
    } catch (const PeerGone& error) {
        EXPECT_NE(std::string(error.what()).find("attach again"), std::string::npos)
            << error.what();
    }
    EXPECT_EQ(values, std::vector<float>(values.size(), -1.0F));
}

TEST_F(StagingRelay, ForwardsTheWritersErrorForAnotherStream) {
    HandMadeWriter writer(near_, writer_of(1));
    const RelayThread relay(between(near_, far_));
    ReaderOptions options;
    options.stream = "other";
    try {
        const SocketSource source(far_.string(), stream_group(), options);
        FAIL() << "attached";
    } catch (const StagingError& error) {
        EXPECT_NE(std::string(error.what()).find("The stream here is \"flow\""), std::string::npos)
            << error.what();
    }
}

TEST_F(StagingRelay, EndsWithTheWriterIfConfigured) {
    const auto options = writer_of(1);
    HandMadeWriter writer(near_, options);
    const RelayThread relay(between(near_, far_, true));
    auto source = attach(far_);
    writer.publish();
    EXPECT_EQ(take_step(*source, options.shape), 0u);
    source->release(0);
    EXPECT_FALSE(relay.over());
    writer.close();
    EXPECT_EQ(source->next(20s).status, StepStatus::ended);
    EXPECT_TRUE(eventually([&] { return relay.over(); }));
}

TEST_F(StagingRelay, RemovesItsContactAndDisconnectsReadersWhenItIsStopped) {
    HandMadeWriter writer(near_, writer_of(1));
    std::optional<RelayThread> relay(between(near_, far_));
    auto source = attach(far_);
    relay.reset();
    EXPECT_FALSE(fs::exists(far_));
    EXPECT_TRUE(fs::exists(near_)) << "the writer's contact is kept";
    EXPECT_THROW((void)source->next(20s), PeerGone);
    EXPECT_TRUE(eventually([&] { return writer.queue().readers() == 0; }, 5s));
}

TEST_F(StagingRelay, RefusesInvalidOptions) {
    const HandMadeWriter writer(near_, writer_of(1));
    const auto fault = [](const RelayOptions& options) -> std::string {
        try {
            const Relay relay(options, stream_group());
        } catch (const StagingError& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_NE(fault(between(near_, near_)).find("another name"), std::string::npos);
    auto small = between(near_, far_);
    small.bytes = 1000;
    EXPECT_NE(fault(small).find("at least"), std::string::npos);
    auto without_secret = between(near_, far_);
    without_secret.from = "login.example:47000";
    EXPECT_NE(fault(without_secret).find("secret"), std::string::npos);
    auto nowhere = between(near_, "/nowhere/far.contact");
    EXPECT_NE(fault(nowhere), "");
}

TEST_F(StagingRelay, DisconnectsUnauthenticatedPeersWhileReadersContinue) {
    const auto options = writer_of(2);
    HandMadeWriter writer(near_, options);
    const RelayThread relay(between(near_, far_));
    auto source = attach(far_);
    const auto address = *socket::parse_address(socket::read_contact(far_)->address);
    asio::io_context io;
    std::vector<asio::ip::tcp::socket> peers;
    for (int i = -1; i < 20; ++i) {
        auto& peer = peers.emplace_back(io);
        peer.connect({asio::ip::make_address(address.host), address.port});
        if (i < 0)
            continue; // sends nothing
        std::vector<std::byte> noise(static_cast<std::size_t>(i) * 37);
        for (std::size_t k = 0; k < noise.size(); ++k)
            noise[k] = static_cast<std::byte>(k * 31 + static_cast<std::size_t>(i));
        if (i % 3 == 0) // a valid frame header with an excessive length
            noise = {std::byte{'U'}, std::byte{'Z'}, std::byte{'S'}, std::byte{'1'},
                     std::byte{1},   std::byte{0},   std::byte{0},   std::byte{0},
                     std::byte{255}, std::byte{255}, std::byte{255}, std::byte{255},
                     std::byte{0},   std::byte{0},   std::byte{0},   std::byte{0}};
        asio::error_code error;
        asio::write(peer, asio::buffer(noise), error);
    }
    for (std::uint64_t number = 0; number < 3; ++number) {
        ASSERT_TRUE(writer.publish());
        EXPECT_EQ(take_step(*source, options.shape), number);
        source->release(number);
    }
    EXPECT_EQ(writer.queue().readers(), 1u) << "no unauthenticated peer reaches the writer";
    std::size_t dropped = 0;
    for (auto& peer : peers) { // silent ones too, after some seconds
        peer.non_blocking(true);
        dropped += eventually(
            [&] {
                std::array<std::byte, 256> bytes{};
                asio::error_code fault;
                while (peer.read_some(asio::buffer(bytes), fault) > 0)
                    continue;
                return fault && fault != asio::error::would_block;
            },
            20s);
    }
    EXPECT_EQ(dropped, peers.size());
}

// ---- memory -------------------------------------------------------------------------------------

/// Writer of steps of one array of bytes in unwritten memory, which has no pages.
class HugeWriter {
  public:
    HugeWriter(const fs::path& contact, std::int64_t bytes)
        : bytes_(bytes), queue_(std::make_shared<Queue>(QueueOptions{})) {
        service_.emplace(socket::SocketService::WriterRank{"huge", 0, 1, ""}, secret_,
                         EngineOptions::Tcp{}, held_, queue_.get());
        const Endpoints all{{service_->endpoint()}};
        service_->open(all);
        contact_.emplace(
            contact, socket::Contact{"huge", "tcp", all.ranks[0].address, secret_, false, 0, ""});
    }
    void publish() {
        StepInfo step;
        step.coordsets = {{"mesh", UniformCoords{}}};
        step.topologies = {{"mesh", 0, 3, {{}, {bytes_ >> 20, 1024, 1024}}}};
        step.fields = {{"u", 0, Association::element, ScalarType::uint8, 1, {}}};
        Block block = Block::with_elements(step.topologies[0].elements);
        StoredArray array;
        array.layout = interleaved(block.elements.extents(), 1, 1);
        block.arrays = {array};
        step.blocks = {block};
        held_.put(std::make_shared<const HeldStep>(HeldStep{
            0, std::make_shared<const StepInfo>(step), 0, std::make_shared<Untouched>(bytes_)}));
        queue_->publish(std::make_shared<EncodedAnnounce>(encode(Announce{0, {}, step})), 1);
    }

  private:
    class Untouched : public Segment {
      public:
        explicit Untouched(std::int64_t bytes)
            : bytes_(static_cast<std::size_t>(bytes)),
              data_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
        Untouched(const Untouched&) = delete;
        Untouched& operator=(const Untouched&) = delete;
        ~Untouched() override { ::munmap(data_, bytes_); }
        [[nodiscard]] std::span<std::byte> bytes() override {
            return {static_cast<std::byte*>(data_), bytes_};
        }

      private:
        std::size_t bytes_;
        void* data_;
    };

    std::int64_t bytes_;
    socket::Secret secret_ = socket::make_secret();
    HeldSteps held_;
    std::shared_ptr<Queue> queue_;
    std::optional<socket::SocketService> service_;
    std::optional<socket::PublishedContact> contact_;
};

/// Read a step of bytes through a small buffer; return the number of non-zero bytes.
std::size_t read_in_parts(SocketSource& source, const Announce& step, std::int64_t part) {
    const Extent all = step.step.topologies[0].elements.extents();
    std::vector<std::byte> buffer(static_cast<std::size_t>(part * all[1] * all[2]));
    std::size_t wrong = 0;
    for (std::int64_t z = 0; z < all[0]; z += part) {
        const Box box = Box::at({z, 0, 0}, {std::min(part, all[0] - z), all[1], all[2]});
        std::fill(buffer.begin(), buffer.end(), std::byte{9});
        const ArrayView to = packed_view(buffer.data(), box.extents(), 1, 1);
        const auto piece = ReadPlanner(step.step, 0).plan(box).pieces.at(0);
        const std::vector<Fetch> wanted{
            {0, request_of(step.step, piece, step.sequence, 0), to.sub(piece.target)}};
        source.fetch(step, wanted, 20s);
        wrong += static_cast<std::size_t>(box.volume()) -
                 static_cast<std::size_t>(
                     std::count(buffer.begin(), buffer.begin() + box.volume(), std::byte{0}));
    }
    return wrong;
}

volatile std::sig_atomic_t told_to_stop = 0;

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    file >> pages >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Run a relay in another process until SIGTERM. It then reports the growth of its memory, the
/// maximum bytes that it held by its own count, and the forwarded bytes.
std::function<void(const OtherProcess::Send&)> relaying(const RelayOptions& options) {
    return [options](const OtherProcess::Send& send) {
        ::signal(SIGTERM, [](int) { told_to_stop = 1; });
        const parallel::CollectiveGroup alone = stream_group();
        Relay relay(options, alone);
        const std::size_t before = resident_bytes();
        std::size_t most = before;
        relay.run([&] {
            most = std::max(most, resident_bytes());
            return told_to_stop == 0;
        });
        send(static_cast<std::int64_t>(most - before));
        send(static_cast<std::int64_t>(relay.status().max_held));
        send(static_cast<std::int64_t>(relay.status().passed));
    };
}

TEST_F(StagingRelay, HoldsNoMoreThanItsBudgetOfAStepOfOneGigabyte) {
    constexpr std::int64_t step_bytes = std::int64_t{1} << 30;
    constexpr std::int64_t budget = std::int64_t{8} << 20;
    auto options = between(near_, far_);
    options.bytes = budget;
    const OtherProcess relay(relaying(options)); // fork before this process has threads
    HugeWriter writer(near_, step_bytes);
    auto source = attach(far_);
    writer.publish();
    const Announce step = announced(source->next(20s));
    EXPECT_EQ(read_in_parts(*source, step, 64), 0u);
    relay.signal(SIGTERM);
    const std::int64_t grown = relay.receive(10s).value_or(-1);
    const std::int64_t held = relay.receive(10s).value_or(-1);
    EXPECT_GE(relay.receive(10s).value_or(-1), step_bytes) << "all bytes passed through the relay";
    const std::int64_t most = budget + (std::int64_t{2} << 20);
    EXPECT_GT(held, 0);
    EXPECT_LE(held, most);
    EXPECT_GE(grown, 0);
    EXPECT_LE(grown, most);
    RecordProperty("grown_kib", static_cast<int>(grown >> 10));
    RecordProperty("held_kib", static_cast<int>(held >> 10));
}

TEST_F(StagingRelay, IsNotDelayedByAStoppedReader) {
    constexpr std::int64_t step_bytes = std::int64_t{128} << 20;
    auto options = between(near_, far_);
    options.bytes = std::size_t{1} << 20; // enough for six pairs of connections
    const OtherProcess relay(relaying(options));
    ReaderOptions one;
    one.connections = 1;
    const OtherProcess stopped([&](const OtherProcess::Send& send) {
        SocketSource source(far_.string(), stream_group(), one);
        const Announce step = announced(source.next(20s));
        (void)read_in_parts(source, step, 8);
        send(1);
        for (;;)
            (void)read_in_parts(source, step, 128);
    });
    HugeWriter writer(near_, step_bytes);
    writer.publish();
    ASSERT_TRUE(stopped.receive(20s));
    stopped.signal(SIGSTOP); // in the middle of a piece
    SocketSource source(far_.string(), stream_group(), one);
    const Announce step = announced(source.next(20s));
    EXPECT_EQ(read_in_parts(source, step, 32), 0u);
}

TEST_F(StagingRelay, ReleasesTheWritersStepsWhenItIsKilled) {
    OtherProcess relay(relaying(between(near_, far_)));
    HandMadeWriter writer(near_, writer_of(1));
    auto source = attach(far_);
    EXPECT_TRUE(eventually([&] { return writer.queue().readers() == 1; }));
    relay.end();
    EXPECT_THROW((void)source->next(20s), PeerGone);
    EXPECT_TRUE(eventually([&] { return writer.queue().readers() == 0; }, 5s));
}

// ---- several ranks ------------------------------------------------------------------------------

TEST(StagingRelayRanks, DivideTheConnectionsAmongThem) {
    const parallel::CollectiveGroup all = stream_group(MPI_COMM_WORLD);
    const suite::Folder folder;
    const fs::path near = folder.path() / "near.contact";
    const fs::path far = folder.path() / "far.contact";
    const auto options = writer_of(3);
    std::optional<HandMadeWriter> writer;
    if (all.rank() == 0)
        writer.emplace(near, options);
    all.barrier();
    Relay relay(between(near, far, true), all);
    std::thread serving([&] { relay.run([] { return true; }); });
    if (all.rank() == 0) {
        auto source = attach(far);
        for (std::uint64_t number = 0; number < 3; ++number) {
            EXPECT_TRUE(writer->publish());
            EXPECT_EQ(take_step(*source, options.shape), number);
            source->release(number);
        }
        writer->close();
        EXPECT_EQ(source->next(20s).status, StepStatus::ended);
    }
    serving.join(); // all end when rank 0 does, with the writer
    EXPECT_GT(relay.status().passed, 0u) << "rank " << all.rank() << " forwarded nothing";
}

} // namespace
} // namespace uzushio::staging::relay
