// Readers and writers over TCP connections: published values are received.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include "staging/notice.hpp"
#include "support/raw_peer.hpp"
#include "support/socket_reader.hpp"

namespace uzushio::staging {
namespace {

using namespace std::chrono_literals;
using testing::CheckingReader;
using testing::Folder;
using testing::HandMadeWriter;
using testing::random_box;
using testing::Shape;
using testing::text_of;

/// Much longer than any expected wait.
constexpr auto long_enough = 60s;

ReaderOptions options(int connections = 2, bool verify = false) {
    ReaderOptions options;
    options.connections = connections;
    options.verify = verify;
    options.attach_limit = long_enough;
    return options;
}

struct Case {
    const char* name;
    Shape shape;
    int connections = 2;
    bool verify = false;
    bool tls = false;
};

class StagingSocketCases : public ::testing::TestWithParam<Case> {};

TEST_P(StagingSocketCases, EveryBoxHasThePublishedValues) {
    const Case& c = GetParam();
    const Folder folder;
    HandMadeWriter::Options writer_options;
    writer_options.shape = c.shape;
    writer_options.tcp.tls = c.tls;
    HandMadeWriter writer(folder / "c", writer_options);
    CheckingReader reader((folder / "c").string(), options(c.connections, c.verify));
    std::mt19937 random(7);
    for (int step = 0; step < 3; ++step) {
        ASSERT_TRUE(writer.publish());
        ASSERT_EQ(reader.next(long_enough), StepStatus::step);
        EXPECT_EQ(reader.step().sequence, static_cast<std::uint64_t>(step));
        EXPECT_TRUE(reader.holds());
        for (int i = 0; i < 10; ++i)
            EXPECT_TRUE(reader.holds(random_box(random, c.shape.elements)));
        reader.release();
    }
    writer.close();
    EXPECT_EQ(reader.next(long_enough), StepStatus::ended);
    EXPECT_EQ(reader.next(0s), StepStatus::ended);
    EXPECT_EQ(writer.queue().counters().delivered, 3u);
}

INSTANTIATE_TEST_SUITE_P(
    All, StagingSocketCases,
    ::testing::Values(Case{"Small", {}}, Case{"FourRanks", {{13, 9, 40}, 3, false, 2, 4}, 3, true},
                      Case{"Planar", {{20, 30, 200}, 3, true, 1, 2}},
                      Case{"LongRows", {{6, 12, 1500}, 1, false, 1, 1}, 1},
                      Case{"ManyConnections", {{64, 64, 128}, 2, false, 0, 2}, 5, true},
                      Case{"ThinSlabs", {{1, 1, 700000}, 1, false, 0, 1}, 2},
                      Case{"Tls", {{40, 60, 70}, 2, false, 1, 2}, 2, false, true},
                      Case{"TlsLongRuns", {{16, 256, 256}, 1, false, 0, 1}, 2, true, true}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(StagingSocket, APieceOfMoreThan64MiBIsReadOverSeveralConnections) {
    const Folder folder;
    HandMadeWriter::Options writer_options;
    writer_options.shape = {{280, 256, 260}, 1, false, 0, 1};
    HandMadeWriter writer(folder / "c", writer_options);
    writer.publish();
    CheckingReader reader((folder / "c").string(), options(3));
    ASSERT_EQ(reader.next(long_enough), StepStatus::step);
    EXPECT_TRUE(reader.holds());
}

TEST(StagingSocket, NextIsRequestedOnceHoweverOftenItTimesOut) {
    const Folder folder;
    HandMadeWriter writer(folder / "c", {});
    CheckingReader reader((folder / "c").string(), options());
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(reader.next(std::chrono::milliseconds(i)), StepStatus::timeout);
    writer.publish();
    ASSERT_EQ(reader.next(long_enough), StepStatus::step);
    EXPECT_TRUE(reader.holds());
    writer.publish();
    EXPECT_EQ(writer.queue().counters().delivered, 1u) << "a step was sent without a request";
    reader.release();
    ASSERT_EQ(reader.next(long_enough), StepStatus::step);
    EXPECT_EQ(reader.step().sequence, 1u);
    EXPECT_TRUE(reader.holds());
}

TEST(StagingSocket, ALateReaderStartsAtTheNewestStepAndSeveralReadConcurrently) {
    const Folder folder;
    HandMadeWriter writer(folder / "c", {});
    for (int i = 0; i < 5; ++i)
        ASSERT_TRUE(writer.publish());
    CheckingReader one((folder / "c").string(), options());
    CheckingReader two((folder / "c").string(), options());
    for (CheckingReader* reader : {&one, &two}) {
        ASSERT_EQ(reader->next(long_enough), StepStatus::step);
        EXPECT_EQ(reader->step().sequence, 4u);
        EXPECT_TRUE(reader->holds());
    }
}

TEST(StagingSocket, AReaderThatDetachesReleasesItsStep) {
    const Folder folder;
    HandMadeWriter writer(folder / "c", {});
    writer.publish();
    for (int cycle = 0; cycle < 10; ++cycle) {
        CheckingReader reader((folder / "c").string(), options());
        ASSERT_EQ(reader.next(long_enough), StepStatus::step);
        EXPECT_TRUE(reader.holds());
    }
    EXPECT_TRUE(writer.queue().drain(long_enough));
}

std::string content_of(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

/// Write the contact file of a killed process.
void leave_behind(const std::filesystem::path& file, const std::string& text) {
    const std::filesystem::path draft = file.string() + ".new";
    std::ofstream(draft) << text;
    std::filesystem::permissions(draft, std::filesystem::perms(0600));
    std::filesystem::rename(draft, file);
}

TEST(StagingSocket, AReaderMayAttachBeforeTheWriterDespiteAStaleFile) {
    const Folder folder;
    const std::string contact = (folder / "c").string();
    auto reading = std::async(std::launch::async, [&] {
        CheckingReader reader(contact, options());
        return reader.next(long_enough) == StepStatus::step && reader.holds();
    });
    std::this_thread::sleep_for(100ms);
    // Contact of a killed writer: no process listens at its address, and its secret differs.
    auto stale = std::make_unique<socket::PublishedContact>(
        contact,
        socket::Contact{"flow", "tcp", "127.0.0.1:1", socket::make_secret(), false, 0, ""});
    const std::string left = content_of(contact);
    stale.reset();
    leave_behind(contact, left);
    std::this_thread::sleep_for(200ms);
    HandMadeWriter writer(contact, {});
    writer.publish();
    EXPECT_TRUE(reading.get());
}

TEST(StagingSocket, AContactOfThePortsFormerOwnerIsReplaced) {
    const Folder folder;
    HandMadeWriter writer(folder / "right", {});
    writer.publish();
    auto stale = std::make_unique<socket::PublishedContact>(
        folder / "c",
        socket::Contact{"flow", "tcp", writer.address(), socket::make_secret(), false, 0, ""});
    auto reading = std::async(std::launch::async, [&] {
        CheckingReader reader((folder / "c").string(), options());
        return reader.next(long_enough) == StepStatus::step && reader.holds();
    });
    const std::string left = content_of(folder / "c");
    stale.reset();
    leave_behind(folder / "c", left);
    std::this_thread::sleep_for(300ms);
    const socket::PublishedContact right(
        folder / "c", {"flow", "tcp", writer.address(), writer.secret(), false, 0, ""});
    EXPECT_TRUE(reading.get());
}

TEST(StagingSocket, AnAddressWithTheSecretReplacesTheFile) {
    const Folder folder;
    for (const bool tls : {false, true}) {
        HandMadeWriter::Options writer_options;
        writer_options.tcp.tls = tls;
        HandMadeWriter writer(folder / "c", writer_options);
        writer.publish();
        ReaderOptions reader_options = options();
        reader_options.secret = socket::to_text(writer.secret());
        reader_options.tls = tls;
        reader_options.stream = "flow";
        CheckingReader reader(writer.address(), reader_options);
        ASSERT_EQ(reader.next(long_enough), StepStatus::step);
        EXPECT_TRUE(reader.holds());
        EXPECT_EQ(reader.source().stream(), "flow");
    }
}

TEST(StagingSocket, ARefusedConnectionCausesANoticeAtOnceAndAMissingContactAfterTwoSeconds) {
    const Folder folder;
    const socket::PublishedContact dead(
        folder / "dead", {"flow", "tcp", "127.0.0.1:1", socket::make_secret(), false, 0, ""});
    const auto notices = [&](const std::string& name, std::chrono::milliseconds limit) {
        std::vector<std::string> sentences;
        const NoticeScope scope([&](const std::string& one) { sentences.push_back(one); });
        ReaderOptions reader_options = options();
        reader_options.attach_limit = limit;
        EXPECT_THROW(CheckingReader((folder / name).string(), reader_options), PeerGone);
        return sentences;
    };
    const auto refused = notices("dead", 200ms);
    ASSERT_EQ(refused.size(), 1u) << "once";
    EXPECT_NE(refused[0].find("No process listens at 127.0.0.1:1"), std::string::npos)
        << refused[0];
    EXPECT_NE(refused[0].find("for up to 0.2 s"), std::string::npos) << refused[0];
    EXPECT_TRUE(notices("none", 200ms).empty());
    const auto missing = notices("none", 2200ms);
    ASSERT_EQ(missing.size(), 1u);
    EXPECT_NE(missing[0].find("There is no contact file"), std::string::npos) << missing[0];
    EXPECT_NE(missing[0].find("section `publish`"), std::string::npos) << missing[0];
}

TEST(StagingSocket, AttachErrorsNameTheAttemptAndTheCause) {
    const Folder folder;
    HandMadeWriter writer(folder / "c", {});
    HandMadeWriter::Options with_tls;
    with_tls.tcp.tls = true;
    HandMadeWriter encrypted(folder / "e", with_tls);
    const std::string secret = socket::to_text(writer.secret());
    const std::string other = socket::to_text(socket::make_secret());
    const socket::PublishedContact dead(
        folder / "dead", {"flow", "tcp", "127.0.0.1:1", socket::make_secret(), false, 0, ""});
    const socket::PublishedContact wrong(
        folder / "wrong", {"flow", "tcp", writer.address(), socket::make_secret(), false, 0, ""});
    struct {
        std::string contact, secret, stream;
        bool tls;
        const char* message;
    } const cases[] = {
        {(folder / "none").string(), "", "", false, "There is no contact file"},
        {(folder / "dead").string(), "", "", false, "has probably ended"},
        {(folder / "wrong").string(), "", "", false,
         "The secret does not match that of the writer"},
        {(folder / "c").string(), "", "smoke", false, "The stream here is \"flow\", not \"smoke\""},
        {writer.address(), "", "", false, "its secret is needed"},
        {writer.address(), "12", "", false, "64 hexadecimal digits"},
        {writer.address(), other, "", false, "The secret does not match that of the writer"},
        {writer.address(), secret, "", true, "or it does not use TLS"},
        {encrypted.address(), secret, "", false, "The writer uses TLS, and this side does not"},
        {encrypted.address(), secret, "", true, "its secret is another one"},
        {"127.0.0.1:1", secret, "", false, "No process listens at 127.0.0.1:1"},
    };
    for (const auto& c : cases) {
        ReaderOptions reader_options = options();
        reader_options.attach_limit = 300ms;
        if (c.contact == (folder / "wrong").string())
            reader_options.attach_limit = long_enough;
        reader_options.secret = c.secret;
        reader_options.stream = c.stream;
        reader_options.tls = c.tls;
        const std::string message =
            text_of<StagingError>([&] { CheckingReader(c.contact, reader_options); });
        EXPECT_NE(message.find(c.message), std::string::npos) << c.contact << ": " << message;
        EXPECT_EQ(message.find(secret), std::string::npos)
            << "the message contains the secret: " << message;
    }
}

TEST(StagingSocket, TheEndIsSentToAReaderWithoutARequest) {
    const Folder folder;
    HandMadeWriter writer(folder / "c", {});
    CheckingReader idle((folder / "c").string(), options());
    CheckingReader waiting((folder / "c").string(), options());
    EXPECT_EQ(waiting.next(1ms), StepStatus::timeout);
    const auto start = std::chrono::steady_clock::now();
    writer.close(long_enough);
    EXPECT_LT(std::chrono::steady_clock::now() - start, long_enough / 2);
    EXPECT_EQ(idle.next(long_enough), StepStatus::ended);
    EXPECT_EQ(waiting.next(long_enough), StepStatus::ended);
}

TEST(StagingSocket, AWriterThatDiesIsDistinguishedFromOneThatCloses) {
    const Folder folder;
    auto writer = std::make_unique<HandMadeWriter>(folder / "c", HandMadeWriter::Options{});
    writer->publish();
    CheckingReader reader((folder / "c").string(), options());
    ASSERT_EQ(reader.next(long_enough), StepStatus::step);
    ASSERT_TRUE(reader.holds());
    writer.reset();
    std::string message = text_of<PeerGone>([&] { (void)reader.read(reader.everything()); });
    EXPECT_NE(message.find("is gone"), std::string::npos) << message;
    EXPECT_NE(message.find("\"flow\""), std::string::npos) << message;
    reader.release();
    for (int i = 0; i < 2; ++i) {
        message = text_of<PeerGone>([&] { (void)reader.next(long_enough); });
        EXPECT_NE(message.find("\"flow\""), std::string::npos) << message;
    }
}

TEST(StagingSocket, ARequestForAReleasedStepFails) {
    const Folder folder;
    HandMadeWriter writer(folder / "c", {});
    writer.publish();
    CheckingReader reader((folder / "c").string(), options());
    ASSERT_EQ(reader.next(long_enough), StepStatus::step);
    writer.forget_steps();
    const std::string message =
        text_of<StagingError>([&] { (void)reader.read(reader.everything()); });
    EXPECT_NE(message.find("Step 0 is not available any more"), std::string::npos) << message;
    reader.release();
    writer.publish();
    ASSERT_EQ(reader.next(long_enough), StepStatus::step);
    EXPECT_TRUE(reader.holds());
}

TEST(StagingSocket, AnInterruptedIdleDataConnectionIsReopened) {
    const Folder folder;
    HandMadeWriter::Options writer_options;
    writer_options.shape.ranks = 2;
    HandMadeWriter writer(folder / "c", writer_options);
    writer.publish();
    CheckingReader reader((folder / "c").string(), options());
    ASSERT_EQ(reader.next(long_enough), StepStatus::step);
    ASSERT_TRUE(reader.holds());
    for (int i = 0; i < 3; ++i) {
        writer.restart_service(1);
        EXPECT_TRUE(reader.holds());
    }
}

TEST(StagingSocket, MemoryIsMappedOnTheSameNodeOnly) {
    const Folder folder;
    HandMadeWriter::Options writer_options;
    writer_options.shape.ranks = 2;
    writer_options.node = "here";
    HandMadeWriter writer(folder / "c", writer_options);
    writer.publish();
    for (const char* node : {"here", "elsewhere"}) {
        CheckingReader reader((folder / "c").string(), options(), node);
        ASSERT_EQ(reader.next(long_enough), StepStatus::step);
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            const auto segment = reader.source().segment(reader.step(), rank);
            if (std::string(node) == "elsewhere")
                EXPECT_TRUE(segment.empty());
            else
                EXPECT_TRUE(std::ranges::equal(segment, writer.memory(0, rank)));
        }
        EXPECT_TRUE(reader.source().segment(reader.step(), 2).empty());
    }
}

TEST(StagingSocket, AReaderThatReceivesNothingDoesNotDelayAnother) {
    const Folder folder;
    HandMadeWriter::Options writer_options;
    writer_options.shape = {{128, 128, 256}, 1, false, 0, 1};
    writer_options.queue.depth = 3;
    HandMadeWriter writer(folder / "c", writer_options);
    writer.publish();
    // It requests more than all buffers on the way can hold, and reads nothing.
    testing::RawReader stopped(writer.address(), writer.secret(), "flow", Channel::data);
    PieceRequest all;
    all.source = {{}, writer_options.shape.elements};
    for (int i = 0; i < 8; ++i)
        stopped.send(all);
    CheckingReader slow((folder / "c").string(), options());
    ASSERT_EQ(slow.next(long_enough), StepStatus::step);

    CheckingReader reader((folder / "c").string(), options());
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(reader.next(long_enough), StepStatus::step);
    for (int step = 0; step < 5; ++step) {
        EXPECT_TRUE(reader.holds());
        reader.release();
        ASSERT_TRUE(writer.publish());
        ASSERT_EQ(reader.next(long_enough), StepStatus::step);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
    EXPECT_TRUE(slow.holds()) << "a held step must not be released";
}

} // namespace
} // namespace uzushio::staging
