#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "staging/staging_error.hpp"
#include "staging/transport/socket/address.hpp"
#include "staging/transport/socket/contact.hpp"
#include "support/socket_reader.hpp"

namespace uzushio::staging::socket {
namespace {

using staging::testing::Folder;
using staging::testing::text_of;

Contact contact() { return {"flow", "tcp", "127.0.0.1:4711", make_secret(), true, 0, ""}; }

unsigned mode_of(const std::filesystem::path& file) {
    struct stat status{};
    EXPECT_EQ(::stat(file.c_str(), &status), 0);
    return status.st_mode & 07777u;
}

std::string content(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file) << text;
    ::chmod(file.c_str(), 0600);
}

TEST(StagingContact, AWrittenContactIsRead) {
    const Folder folder;
    const Contact sent = contact();
    const PublishedContact published(folder / "flow.contact", sent);
    const auto got = read_contact(folder / "flow.contact");
    ASSERT_TRUE(got);
    EXPECT_EQ(got->stream, sent.stream);
    EXPECT_EQ(got->engine, sent.engine);
    EXPECT_EQ(got->address, sent.address);
    EXPECT_EQ(got->secret, sent.secret);
    EXPECT_TRUE(got->tls);
    EXPECT_EQ(got->process, static_cast<std::uint64_t>(::getpid()));
    EXPECT_FALSE(got->host.empty());
}

TEST(StagingContact, OnlyTheUserMayReadItForAnyUmask) {
    const Folder folder;
    const mode_t before = ::umask(0);
    const PublishedContact published(folder / "c", contact());
    ::umask(before);
    EXPECT_EQ(mode_of(folder / "c"), 0600u);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "."), {}), 1)
        << "the draft is still there";
}

TEST(StagingContact, AFileThatOthersMayReadIsRefused) {
    const Folder folder;
    const PublishedContact published(folder / "c", contact());
    for (const mode_t mode : {0640u, 0604u, 0620u, 0601u}) {
        ASSERT_EQ(::chmod((folder / "c").c_str(), mode), 0);
        const std::string text = text_of<StagingError>([&] { (void)read_contact(folder / "c"); });
        EXPECT_NE(text.find("gives others rights"), std::string::npos) << text;
    }
}

TEST(StagingContact, AFileOfAnotherUserIsRefused) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give a file away";
    const Folder folder;
    const PublishedContact published(folder / "c", contact());
    ASSERT_EQ(::chown((folder / "c").c_str(), 12345, 12345), 0);
    const std::string text = text_of<StagingError>([&] { (void)read_contact(folder / "c"); });
    EXPECT_NE(text.find("belongs to another user"), std::string::npos) << text;
}

TEST(StagingContact, AFileWithoutALivingOwnerIsReplaced) {
    const Folder folder;
    write(folder / "c", "an earlier writer's file");
    const Contact sent = contact();
    {
        const PublishedContact published(folder / "c", sent);
        EXPECT_EQ(read_contact(folder / "c")->secret, sent.secret);
    }
    EXPECT_FALSE(read_contact(folder / "c"));
}

TEST(StagingContact, ASecondWriterIsRefusedWhileTheFirstLives) {
    const Folder folder;
    auto first = std::make_unique<PublishedContact>(folder / "c", contact());
    const auto secret = read_contact(folder / "c")->secret;
    const std::string text =
        text_of<StagingError>([&] { PublishedContact(folder / "c", contact()); });
    EXPECT_NE(text.find("is in use: process " + std::to_string(::getpid())), std::string::npos)
        << text;
    EXPECT_NE(text.find("the stream \"flow\""), std::string::npos) << text;
    EXPECT_EQ(read_contact(folder / "c")->secret, secret) << "the first contact is unchanged";
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "."), {}), 1)
        << "the draft is still there";
    first.reset();
    const PublishedContact second(folder / "c", contact());
    EXPECT_TRUE(read_contact(folder / "c"));
}

TEST(StagingContact, OneOfManyConcurrentWritersClaimsTheName) {
    const Folder folder;
    write(folder / "c", "an earlier writer's file");
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i)
        if (const pid_t child = ::fork(); child == 0) {
            int status = 1;
            try {
                const PublishedContact published(folder / "c", contact());
                ::usleep(1'500'000); // longer than the wait of all others
                status = 0;
            } catch (const StagingError&) {
            }
            ::_exit(status);
        } else {
            children.push_back(child);
        }
    int winners = 0;
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        winners += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
    }
    EXPECT_EQ(winners, 1);
    EXPECT_FALSE(std::filesystem::exists(folder / "c"));
}

/// Return whether `look` returns true within a few seconds.
template <class Look> bool soon(const Look& look) {
    for (int i = 0; i < 500; ++i, ::usleep(10'000))
        if (look())
            return true;
    return false;
}

TEST(StagingContact, ARemovedFileIsWrittenAgainAndAReplacedOneKept) {
    const Folder folder;
    const auto there = [&] { return std::filesystem::exists(folder / "c"); };
    {
        const PublishedContact published(folder / "c", contact());
        const auto secret = read_contact(folder / "c")->secret;
        ::testing::internal::CaptureStderr();
        std::filesystem::remove(folder / "c");
        const bool again = soon(there);
        ::usleep(200'000);
        const std::string notice = ::testing::internal::GetCapturedStderr();
        ASSERT_TRUE(again);
        EXPECT_NE(notice.find("was removed, and has been written again"), std::string::npos)
            << notice;
        EXPECT_EQ(read_contact(folder / "c")->secret, secret);
        EXPECT_EQ(mode_of(folder / "c"), 0600u);
        EXPECT_THROW(PublishedContact(folder / "c", contact()), StagingError)
            << "the new file is owned";
        write(folder / "new", "another writer's");
        std::filesystem::rename(folder / "new", folder / "c");
        ::testing::internal::CaptureStderr();
        ::usleep(1'300'000);
        EXPECT_NE(::testing::internal::GetCapturedStderr().find("was replaced"), std::string::npos);
    }
    EXPECT_EQ(content(folder / "c"), "another writer's");
}

TEST(StagingContact, InvalidContactsAreRefused) {
    const Folder folder;
    std::string valid;
    {
        const PublishedContact published(folder / "good", contact());
        valid = content(folder / "good");
    }
    const auto with = [&](const std::string& what, const std::string& instead) {
        std::string text = valid;
        const std::size_t at = text.find(what);
        EXPECT_NE(at, std::string::npos) << what;
        return text.replace(at, what.size(), instead);
    };
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("[]"), std::string("{}"),
          valid.substr(0, valid.size() / 2), with("\"tls\": true", "\"tls\": 3"),
          with("\"secret\": \"", "\"secret\": \"x"), with("\"address\"", "\"adress\""),
          with("\"uzushio_contact\": 1", "\"uzushio_contact\": 2"), std::string(20000, ' ') + valid,
          std::string(10000, '[')}) {
        write(folder / "c", text);
        EXPECT_THROW((void)read_contact(folder / "c"), StagingError) << text.substr(0, 200);
    }
    EXPECT_THROW((void)read_contact(folder / "."), StagingError);
    EXPECT_FALSE(read_contact(folder / "none"));
    EXPECT_FALSE(read_contact(folder / "no" / "folder"));
}

TEST(StagingContact, AMissingFolderIsNamed) {
    const Folder folder;
    const std::string text =
        text_of<StagingError>([&] { PublishedContact(folder / "no" / "c", contact()); });
    EXPECT_NE(text.find((folder / "no" / "c").string()), std::string::npos) << text;
}

TEST(StagingContact, ASecretIsEqualAfterParsingAndOtherTextsAreRefused) {
    const Secret secret = make_secret();
    EXPECT_EQ(parse_secret(to_text(secret)), secret);
    EXPECT_NE(make_secret(), secret);
    for (const std::string& text : {std::string(), std::string(63, 'a'), std::string(65, 'a'),
                                    std::string(63, 'a') + "g", std::string(63, 'a') + "\n"}) {
        const std::string message = text_of<StagingError>([&] { (void)parse_secret(text); });
        EXPECT_NE(message.find("64 hexadecimal digits"), std::string::npos) << message;
    }
}

TEST(StagingContact, AddressesAreHostAndPort) {
    EXPECT_EQ(parse_address("node7:80")->host, "node7");
    EXPECT_EQ(parse_address("[::1]:8080")->host, "::1");
    EXPECT_EQ(to_text(*parse_address("[::1]:8080")), "[::1]:8080");
    EXPECT_EQ(to_text(*parse_address("node7:65535")), "node7:65535");
    for (const char* text : {"", ":1", "node", "node:", "node:0", "node:65536", "node:1x", "::1:80",
                             "a/b:1", "[]:1", "node:-1"})
        EXPECT_FALSE(parse_address(text)) << text;
}

} // namespace
} // namespace uzushio::staging::socket
