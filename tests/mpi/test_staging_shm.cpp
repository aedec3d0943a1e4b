#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "staging/staging_error.hpp"
#include "staging/transport/shm/mapped_segments.hpp"
#include "staging/transport/shm/node_name.hpp"
#include "staging/transport/shm/shared_segment.hpp"

namespace uzushio::staging::shm {
namespace {

constexpr std::size_t some = 300'000;

void write_pattern(Segment& segment, int seed) {
    const auto bytes = segment.bytes();
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(seed)) % 251);
}

bool has_pattern(std::span<const std::byte> bytes, int seed) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
        if (bytes[i] != static_cast<std::byte>((i * 7 + static_cast<std::size_t>(seed)) % 251))
            return false;
    return !bytes.empty();
}

/// Return the result of `ask` in another process, without MPI.
template <class Ask> bool in_another_process(Ask&& ask) {
    const pid_t child = fork();
    if (child == 0)
        _exit(ask() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(StagingShm, AnotherProcessReadsTheWritersMemory) {
    const auto segment = make_shared_segment(some);
    EXPECT_GE(segment->bytes().size(), some);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment->bytes().data()) % 64, 0u);
    write_pattern(*segment, 1);
    const SegmentPlace place = segment->place();
    EXPECT_TRUE(in_another_process([&] {
        MappedSegments map;
        const auto seen = map.map(place);
        return seen.size() == segment->bytes().size() && seen.data() != segment->bytes().data() &&
               has_pattern(seen, 1) && map.map(place).data() == seen.data();
    }));
    MappedSegments map;
    const auto seen = map.map(place);
    write_pattern(*segment, 2);
    EXPECT_TRUE(has_pattern(seen, 2)) << "the same memory, not a copy";
}

TEST(StagingShm, AReaderCannotWrite) {
    const auto segment = make_shared_segment(some);
    MappedSegments map;
    const auto seen = map.map(segment->place());
    ASSERT_FALSE(seen.empty());
    auto* const page = const_cast<std::byte*>(seen.data());
    EXPECT_NE(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);

    const SegmentPlace place = segment->place();
    const std::string link = "/proc/" + std::to_string(place.process) + "/fd/" +
                             std::to_string(place.handle & 0xFFFFFFFFu);
    const int file = open(link.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(file, 0);
    EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
    EXPECT_NE(ftruncate(file, 4096), 0) << "nor truncate it";
    EXPECT_LT(pwrite(file, "x", 1, 5000), 0);
    close(file);
}

TEST(StagingShm, MappedMemoryRemainsWhenTheWriterIsKilled) {
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    const pid_t writer = fork();
    if (writer == 0) {
        const auto segment = make_shared_segment(some);
        write_pattern(*segment, 3);
        const SegmentPlace place = segment->place();
        if (write(pipe_ends[1], &place, sizeof place) == sizeof place)
            pause();
        _exit(1);
    }
    SegmentPlace place;
    ASSERT_EQ(read(pipe_ends[0], &place, sizeof place), static_cast<ssize_t>(sizeof place));
    MappedSegments map;
    const auto seen = map.map(place);
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
    EXPECT_TRUE(has_pattern(seen, 3));
    EXPECT_EQ(map.map(place).data(), seen.data());
    EXPECT_NO_THROW(map.end_step());
    MappedSegments late;
    EXPECT_TRUE(late.map(place).empty()) << "its process has ended";
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

TEST(StagingShm, APlaceWithAnyWrongEntryMapsNothing) {
    const auto segment = make_shared_segment(some);
    const SegmentPlace right = segment->place();
    MappedSegments map;
    const auto maps_nothing = [&](auto change) {
        SegmentPlace place = right;
        change(place);
        return map.map(place).empty();
    };
    EXPECT_TRUE(maps_nothing([](auto& place) { place.token ^= 1; }));
    EXPECT_TRUE(maps_nothing([](auto& place) { place.bytes += 4096; }));
    EXPECT_TRUE(maps_nothing([](auto& place) { place.bytes -= 1; }));
    EXPECT_TRUE(maps_nothing([](auto& place) { place.bytes = ~std::uint64_t{0}; }));
    EXPECT_TRUE(maps_nothing([](auto& place) { place.process = 1; }));
    EXPECT_TRUE(maps_nothing([](auto& place) { place.process = ~std::uint64_t{0}; }));
    EXPECT_TRUE(maps_nothing([](auto& place) { place.handle = 0xFFFFFFu; }));
    std::array<int, 2> pipe_ends{}; // opening it would wait for a writer
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    EXPECT_TRUE(maps_nothing(
        [&](auto& place) { place.handle = static_cast<std::uint64_t>(pipe_ends[0]); }));
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    const int unsealed = memfd_create("uzushio", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(unsealed, static_cast<off_t>(right.bytes + 4096)), 0);
    EXPECT_TRUE(maps_nothing([&](auto& place) {
        place.handle = static_cast<std::uint64_t>(unsealed);
    })) << "it may be cut off while it is read";
    close(unsealed);
    EXPECT_EQ(map.size(), 0u);
    EXPECT_FALSE(map.map(right).empty());
    EXPECT_TRUE(maps_nothing([](auto& place) { place.process = 1; })) << "although it is mapped";
}

TEST(StagingShm, ARefilledSegmentIsNotTheAnnouncedStep) {
    const auto segment = make_shared_segment(some);
    MappedSegments map;
    const SegmentPlace first = segment->place();
    const auto seen = map.map(first);
    segment->renew();
    EXPECT_TRUE(map.map(first).empty());
    const SegmentPlace second = segment->place();
    EXPECT_NE(first, second);
    EXPECT_EQ(map.map(second).data(), seen.data()) << "mapped once";
    EXPECT_EQ(map.size(), 1u);
    MappedSegments late;
    EXPECT_TRUE(late.map(first).empty());
    EXPECT_NO_THROW(late.end_step()) << "no value was read";
}

TEST(StagingShm, MappingsEndWithTheSegmentOrWhenUnusedForManySteps) {
    auto segment = make_shared_segment(some);
    const auto other = make_shared_segment(some);
    MappedSegments map;
    EXPECT_FALSE(map.map(segment->place()).empty());
    EXPECT_FALSE(map.map(other->place()).empty());
    map.end_step();
    EXPECT_EQ(map.size(), 2u);
    segment.reset();
    map.end_step();
    EXPECT_EQ(map.size(), 1u) << "the released segment is unmapped";
    for (int i = 0; i < 200; ++i)
        map.end_step();
    EXPECT_EQ(map.size(), 0u);
    EXPECT_FALSE(map.map(other->place()).empty()) << "it can be mapped again";
}

TEST(StagingShm, AReplacedStepIsDetectedAtItsEnd) {
    const auto segment = make_shared_segment(some);
    MappedSegments map;
    EXPECT_FALSE(map.map(segment->place()).empty());
    EXPECT_FALSE(map.map(segment->place()).empty());
    EXPECT_NO_THROW(map.end_step());
    EXPECT_FALSE(map.map(segment->place()).empty());
    segment->renew();
    EXPECT_THROW(map.end_step(), PeerGone);
    EXPECT_FALSE(map.map(segment->place()).empty());
    EXPECT_NO_THROW(map.end_step()) << "the next step is intact";
}

TEST(StagingShm, AMappedStepStaysIntactWhenTheWriterCloses) {
    auto segment = make_shared_segment(some);
    write_pattern(*segment, 4);
    MappedSegments map;
    const auto seen = map.map(segment->place());
    segment.reset();
    EXPECT_TRUE(has_pattern(seen, 4));
    EXPECT_NO_THROW(map.end_step());
}

TEST(StagingShm, MissingMemoryIsAnErrorWithTheRequestedSize) {
    for (const std::size_t bytes : {std::size_t{1} << 50, std::size_t{1} << 60}) {
        try {
            (void)make_shared_segment(bytes);
            ADD_FAILURE() << "made";
        } catch (const StagingError& error) {
            EXPECT_NE(std::string(error.what()).find(std::to_string(bytes)), std::string::npos)
                << error.what();
        }
    }
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit low{1 << 20, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &low);
    EXPECT_THROW((void)make_shared_segment(2 << 20), StagingError) << "and no SIGXFSZ";
    setrlimit(RLIMIT_FSIZE, &before);
}

TEST(StagingShm, AllPagesAreAllocatedAtTheStart) {
    const auto segment = make_shared_segment(64 << 20);
    const auto faults = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_minflt;
    };
    const auto before = faults();
    std::memset(segment->bytes().data(), 1, segment->bytes().size());
    EXPECT_LT(faults() - before, 4000) << "of 16384 pages, and those of a sanitizer";
}

TEST(StagingShm, ProcessesOfOneNodeHaveOneName) {
    const std::string name = node_name();
    EXPECT_GT(name.size(), 30u);
    EXPECT_TRUE(in_another_process([&] { return node_name() == name; }));
}

} // namespace
} // namespace uzushio::staging::shm
