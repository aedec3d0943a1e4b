#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "staging/choose_options.hpp"
#include "staging/engine_options.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging {
namespace {

using namespace std::chrono_literals;

/// Return the error message for these options.
std::string refusal(const std::string& yaml) {
    try {
        (void)parse_options(yaml, "case.yaml");
    } catch (const StagingError& error) {
        return error.what();
    }
    return "accepted";
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(StagingOptions, EmptyOptionsAreTheDefaults) {
    for (const char* yaml : {"", "# only a comment\n", "{}", "queue:\n", "---\n"}) {
        const EngineOptions options = parse_options(yaml, "case.yaml");
        EXPECT_EQ(options.engine, EngineOptions{}.engine) << yaml;
        EXPECT_EQ(options.queue.bytes, QueueOptions{}.bytes) << yaml;
        EXPECT_EQ(options.queue.depth, QueueOptions{}.depth) << yaml;
    }
}

TEST(StagingOptions, ALeadingTildeIsTheHomeFolder) {
    const auto home = std::filesystem::temp_directory_path() / ("home" + std::to_string(getpid()));
    const char* const before = std::getenv("HOME");
    const std::string kept = before == nullptr ? "" : before;
    std::filesystem::create_directories(home);
    ::setenv("HOME", home.c_str(), 1);
    const auto options =
        parse_options("{contact: ~/a.contact, file: {folder: \"~/out\"}}", "options");
    EXPECT_EQ(options.contact, home / "a.contact");
    EXPECT_EQ(options.file.folder, home / "out");
    EXPECT_EQ(parse_options("contact: ~other/a", "options").contact, "~other/a");
    EXPECT_EQ(parse_options("contact: a/~/b", "options").contact, "a/~/b");
    std::ofstream(home / "staging.yaml") << "engine: file\n";
    EXPECT_EQ(read_options("~/staging.yaml").engine, "file");
    EXPECT_EQ(choose_options("~/staging.yaml", MPI_COMM_NULL).engine, "file");
    ::unsetenv("HOME");
    EXPECT_EQ(parse_options("contact: ~/a", "options").contact, "~/a");
    if (before != nullptr)
        ::setenv("HOME", kept.c_str(), 1);
    std::filesystem::remove_all(home);
}

TEST(StagingOptions, EveryKeyIsParsed) {
    const EngineOptions options = parse_options(R"(
engine: tcp
contact: run/flow.contact
queue:
  policy: block
  depth: 5
  bytes: 4 GB
  time_limit: 250 ms
  on_timeout: fail
  keep_newest: false
wait_for_readers: 3
wait_limit: "2 min"
close_limit: 1.5
checksums: true
tcp: {listen: "::", port: 47000, advertise: login.example, tls: true}
mpi: {mode: push}
file: {folder: out.zarr, overwrite: true}
adios2: {kind: bp5, parameters: {MarshalMethod: BP5, QueueLimit: 3}}
)",
                                                "case.yaml");
    EXPECT_EQ(options.engine, "tcp");
    EXPECT_EQ(options.contact, "run/flow.contact");
    EXPECT_EQ(options.queue.policy, QueuePolicy::block);
    EXPECT_EQ(options.queue.depth, 5u);
    EXPECT_EQ(options.queue.bytes, 4'000'000'000u);
    EXPECT_EQ(options.queue.time_limit, 250ms);
    EXPECT_EQ(options.queue.on_timeout, OnTimeout::fail);
    EXPECT_FALSE(options.queue.keep_newest);
    EXPECT_EQ(options.wait_for_readers, 3u);
    EXPECT_EQ(options.wait_limit, 2min);
    EXPECT_EQ(options.close_limit, 1500ms);
    EXPECT_TRUE(options.checksums);
    EXPECT_EQ(options.tcp.listen, "::");
    EXPECT_EQ(options.tcp.port, 47000);
    EXPECT_EQ(options.tcp.advertise, "login.example");
    EXPECT_TRUE(options.tcp.tls);
    EXPECT_EQ(options.mpi.mode, MpiMode::push);
    EXPECT_EQ(options.file.folder, "out.zarr");
    EXPECT_TRUE(options.file.overwrite);
    EXPECT_EQ(options.adios2.kind, "bp5");
    EXPECT_EQ(options.adios2.parameters,
              (std::map<std::string, std::string>{{"MarshalMethod", "BP5"}, {"QueueLimit", "3"}}));
}

TEST(StagingOptions, SizesAndTimesHaveTheUnitsOfCaseFiles) {
    const auto bytes = [](const std::string& text) {
        return parse_options("queue: {bytes: " + text + "}", "case.yaml").queue.bytes;
    };
    EXPECT_EQ(bytes("1500"), 1500u);
    EXPECT_EQ(bytes("1e6"), 1'000'000u);
    EXPECT_EQ(bytes("2kB"), 2000u);
    EXPECT_EQ(bytes("\" 1.5 KiB \""), 1536u);
    EXPECT_EQ(bytes("3 GiB"), std::size_t{3} << 30);
    EXPECT_EQ(bytes("2 TB"), 2'000'000'000'000u);
    const auto limit = [](const std::string& text) {
        return parse_options("wait_limit: " + text, "case.yaml").wait_limit;
    };
    EXPECT_EQ(limit("0"), 0s);
    EXPECT_EQ(limit("15 us"), 15us);
    EXPECT_EQ(limit("15 µs"), 15us);
    EXPECT_EQ(limit(".5 h"), 30min);
}

TEST(StagingOptions, AnErrorNamesFileLineKeyValueAndAllowedValues) {
    const std::string policy = refusal("engine: shm\nqueue:\n  policy: latest\n");
    EXPECT_TRUE(has(policy, "case.yaml, line 3")) << policy;
    EXPECT_TRUE(has(policy, "'queue.policy' is \"latest\"")) << policy;
    EXPECT_TRUE(has(policy, "block, drop_newest, drop_oldest, latest_only")) << policy;

    const std::string unit = refusal("queue: {bytes: 4 Gb}");
    EXPECT_TRUE(has(unit, "'queue.bytes' is \"4 Gb\"")) << unit;
    EXPECT_TRUE(has(unit, "GB")) << unit;

    const std::string unknown = refusal("queue:\n  depht: 3\n");
    EXPECT_TRUE(has(unknown, "case.yaml, line 2")) << unknown;
    EXPECT_TRUE(has(unknown, "'queue.depht' is not a key (did you mean 'depth'?)")) << unknown;
    EXPECT_TRUE(has(unknown, "keep_newest")) << unknown;

    EXPECT_TRUE(has(refusal("engine: smh"), "(did you mean 'shm'?)"));
    EXPECT_FALSE(has(refusal("parallelism: 3"), "did you mean")) << "no similar word";
    EXPECT_TRUE(has(refusal("a: [1, 2\nb: 3"), "case.yaml, line 2: This is not YAML"));
}

TEST(StagingOptions, ValuesOfTheWrongKindAreRefused) {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"queue: {depth: 0}", "at least 1"},
        {"queue: {depth: 2.5}", "'queue.depth' is \"2.5\""},
        {"queue: {depth: -1}", "'queue.depth' is \"-1\""},
        {"queue: {depth: two}", "a whole number"},
        {"queue: {depth: }", "'queue.depth' has no value"},
        {"queue: {depth: [1, 2]}", "'queue.depth' is a list"},
        {"queue: {depth: 99999999999999999999999}", "a whole number"},
        {"queue: {bytes: 0}", "at least 1 B"},
        {"queue: {bytes: 1e30}", "below 9.2e18 B"},
        {"queue: {bytes: -4 GB}", "a number with a unit such as \"4 GB\""},
        {"queue: {bytes: .inf}", "a number with a unit"},
        {"queue: {bytes: {}}", "'queue.bytes' is a section"},
        {"queue: {time_limit: -1}", "such as \"10 s\""},
        {"queue: {time_limit: 10 days}", "us, µs, ms, s, min, h"},
        {"queue: {time_limit: 1e10}", "at most 1e9 s"},
        {"queue: {keep_newest: 2}", "true or false"},
        {"queue: block", "'queue' is \"block\"; it must be a section"},
        {"tcp: {port: 65536}", "from 0 to 65535"},
        {"tcp: {listen: [a]}", "'tcp.listen' is a list"},
        {"mpi: {mode: get}", "two_sided, push, pull"},
        {"[engine, shm]", "keys and values"},
        {"shm", "keys and values"},
        {"engine: shm\nengine: tcp", "line 2: 'engine' is given twice"},
        {"engine: shm\n---\nengine: tcp", "one document"},
        {"engine: \"\\q\"", "This is not YAML"},
    };
    for (const auto& [yaml, part] : wrong)
        EXPECT_TRUE(has(refusal(yaml), part)) << yaml << "\n -> " << refusal(yaml);
}

TEST(StagingOptions, AreReadFromAFileAndAMissingOneIsNamed) {
    const auto file = std::filesystem::temp_directory_path() /
                      ("staging_options_" + std::to_string(getpid()) + ".yaml");
    std::ofstream(file) << "engine: mpi\n";
    EXPECT_EQ(read_options(file).engine, "mpi");
    std::ofstream(file) << "engine: nothing\n";
    try {
        (void)read_options(file);
        ADD_FAILURE() << "accepted";
    } catch (const StagingError& error) {
        EXPECT_TRUE(has(error.what(), file.string() + ", line 1")) << error.what();
    }
    std::filesystem::remove(file);
    EXPECT_THROW((void)read_options(file), StagingError);
}

} // namespace
} // namespace uzushio::staging
