// ranks: 1 2 4
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <thread>

#include "parallel/collective_group.hpp"

namespace uzushio::parallel {
namespace {

struct GeneralError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct PeerGone : GeneralError {
    using GeneralError::GeneralError;
};
struct Timeout : GeneralError {
    using GeneralError::GeneralError;
};

CollectiveGroup make_group(MPI_Comm comm) {
    return CollectiveGroup(comm, "this group", ErrorTypes::of<GeneralError, PeerGone, Timeout>());
}

std::vector<std::byte> noise(std::size_t size, unsigned seed) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>((i * 31 + (i >> 8) * 7 + seed) & 0xFFu);
    return bytes;
}

double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(CollectiveGroup, AProcessAloneNeedsNoMpi) {
    const CollectiveGroup group = make_group(MPI_COMM_NULL);
    EXPECT_EQ(group.rank(), 0);
    EXPECT_EQ(group.size(), 1);
    EXPECT_EQ(group.comm(), MPI_COMM_NULL);
    group.barrier();
    EXPECT_EQ(group.max(7), 7u);
    EXPECT_EQ(group.sum_before(7), 0u);
    EXPECT_EQ(group.broadcast(noise(5, 1)), noise(5, 1));
    EXPECT_EQ(group.gather(noise(5, 1)).at(0), noise(5, 1));
    EXPECT_THROW(group.agree("It failed."), GeneralError);
}

TEST(CollectiveGroup, RanksReduceAndCount) {
    const CollectiveGroup group = make_group(MPI_COMM_WORLD);
    const auto rank = static_cast<std::uint64_t>(group.rank());
    EXPECT_EQ(group.max(rank * 10), static_cast<std::uint64_t>(group.size() - 1) * 10);
    EXPECT_EQ(group.sum_before(rank + 1), rank * (rank + 1) / 2);
    EXPECT_EQ(group.any(group.rank() == group.size() - 1), true);
    EXPECT_EQ(group.any(false), false);
}

TEST(CollectiveGroup, BytesOfAnySizeReachAll) {
    const CollectiveGroup group = make_group(MPI_COMM_WORLD);
    for (const std::size_t size : {0u, 1u, 1015u, 1016u, 1017u, 100'000u, 80'000'000u}) {
        const auto got = group.broadcast(group.rank() == 0 ? noise(size, 3) : noise(9, 4));
        EXPECT_TRUE(got == noise(size, 3)) << size;
    }
}

TEST(CollectiveGroup, RankZeroGathersTheBytesOfEachRank) {
    const CollectiveGroup group = make_group(MPI_COMM_WORLD);
    const auto size_of_rank = [](std::size_t rank) {
        return rank % 2 == 0 ? std::size_t{0} : std::size_t{70'000'000} / rank + rank;
    };
    const auto rank = static_cast<std::size_t>(group.rank());
    const auto all = group.gather(noise(size_of_rank(rank), static_cast<unsigned>(rank)));
    ASSERT_EQ(all.size(), rank == 0 ? static_cast<std::size_t>(group.size()) : 0);
    for (std::size_t r = 0; r < all.size(); ++r)
        EXPECT_TRUE(all[r] == noise(size_of_rank(r), static_cast<unsigned>(r))) << r;
}

TEST(CollectiveGroup, AnErrorOfTheLastRankIsThrownOnAllWithItsType) {
    const CollectiveGroup group = make_group(MPI_COMM_WORLD);
    const bool fails = group.rank() == group.size() - 1;
    const auto fail_as = [&](auto error) {
        group.run_collectively([&] {
            if (fails)
                throw error;
        });
    };
    try {
        fail_as(PeerGone("The writer is gone."));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const PeerGone& e) {
        EXPECT_STREQ(e.what(), "The writer is gone.");
    }
    EXPECT_THROW(fail_as(Timeout("It does not answer.")), Timeout);
    EXPECT_THROW(fail_as(std::bad_alloc()), GeneralError);
    EXPECT_THROW(fail_as(1), GeneralError);
    EXPECT_THROW(group.agree(fails ? std::optional<std::string>("") : std::nullopt), GeneralError);
    EXPECT_NO_THROW(group.run_collectively([] {}));
}

TEST(CollectiveGroup, AllRanksThrowTheTextOfTheLowestFailedRank) {
    const CollectiveGroup group = make_group(MPI_COMM_WORLD);
    try {
        group.agree("Rank " + std::to_string(group.rank()) + " failed.");
        ADD_FAILURE() << "nothing was thrown";
    } catch (const GeneralError& e) {
        EXPECT_STREQ(e.what(), "Rank 0 failed.");
    }
}

TEST(CollectiveGroup, WaitsTakeNoProcessorTime) {
    const CollectiveGroup group = make_group(MPI_COMM_WORLD);
    group.barrier();
    const double before = processor_seconds();
    if (group.rank() == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
    group.barrier();
    EXPECT_LT(processor_seconds() - before, 0.2);
}

} // namespace
} // namespace uzushio::parallel
