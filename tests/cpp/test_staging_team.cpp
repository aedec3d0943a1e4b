// ranks: 1 2 4
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>

#include "staging/queue/queue_timeout.hpp"
#include "staging/staging_error.hpp"
#include "staging/team.hpp"

namespace uzushio::staging {
namespace {

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

TEST(StagingTeam, AProcessAloneNeedsNoMpi) {
    const Team team;
    EXPECT_EQ(team.rank(), 0);
    EXPECT_EQ(team.size(), 1);
    EXPECT_EQ(team.comm(), MPI_COMM_NULL);
    team.barrier();
    EXPECT_EQ(team.max(7), 7u);
    EXPECT_EQ(team.sum_before(7), 0u);
    EXPECT_EQ(team.broadcast(noise(5, 1)), noise(5, 1));
    EXPECT_EQ(team.gather(noise(5, 1)).at(0), noise(5, 1));
    EXPECT_THROW(team.agree("It failed."), StagingError);
}

TEST(StagingTeam, RanksReduceAndCount) {
    const Team team(MPI_COMM_WORLD);
    const auto rank = static_cast<std::uint64_t>(team.rank());
    EXPECT_EQ(team.max(rank * 10), static_cast<std::uint64_t>(team.size() - 1) * 10);
    EXPECT_EQ(team.sum_before(rank + 1), rank * (rank + 1) / 2);
    EXPECT_EQ(team.any(team.rank() == team.size() - 1), true);
    EXPECT_EQ(team.any(false), false);
}

TEST(StagingTeam, BytesOfAnySizeReachAll) {
    const Team team(MPI_COMM_WORLD);
    for (const std::size_t size : {0u, 1u, 1015u, 1016u, 1017u, 100'000u, 80'000'000u}) {
        const auto got = team.broadcast(team.rank() == 0 ? noise(size, 3) : noise(9, 4));
        EXPECT_TRUE(got == noise(size, 3)) << size;
    }
}

TEST(StagingTeam, RankZeroGathersWhatEachRankHas) {
    const Team team(MPI_COMM_WORLD);
    const auto size_of_rank = [](std::size_t rank) {
        return rank % 2 == 0 ? std::size_t{0} : std::size_t{70'000'000} / rank + rank;
    };
    const auto rank = static_cast<std::size_t>(team.rank());
    const auto all = team.gather(noise(size_of_rank(rank), static_cast<unsigned>(rank)));
    ASSERT_EQ(all.size(), rank == 0 ? static_cast<std::size_t>(team.size()) : 0);
    for (std::size_t r = 0; r < all.size(); ++r)
        EXPECT_TRUE(all[r] == noise(size_of_rank(r), static_cast<unsigned>(r))) << r;
}

TEST(StagingTeam, AnErrorOfTheLastRankIsThrownOnAllAsItsKind) {
    const Team team(MPI_COMM_WORLD);
    const bool fails = team.rank() == team.size() - 1;
    const auto fail_as = [&](auto error) {
        team.together([&] {
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
    EXPECT_THROW(fail_as(PeerSilent("It does not answer.")), PeerSilent);
    EXPECT_THROW(fail_as(QueueTimeout("No room.")), QueueTimeout);
    EXPECT_THROW(fail_as(std::bad_alloc()), StagingError);
    EXPECT_THROW(fail_as(1), StagingError);
    EXPECT_THROW(team.agree(fails ? std::optional<std::string>("") : std::nullopt), StagingError);
    EXPECT_NO_THROW(team.together([] {}));
}

TEST(StagingTeam, TheFirstRanksTextIsThatOfAll) {
    const Team team(MPI_COMM_WORLD);
    try {
        team.agree("Rank " + std::to_string(team.rank()) + " failed.");
        ADD_FAILURE() << "nothing was thrown";
    } catch (const StagingError& e) {
        EXPECT_STREQ(e.what(), "Rank 0 failed.");
    }
}

TEST(StagingTeam, WaitsTakeNoProcessorTime) {
    const Team team(MPI_COMM_WORLD);
    team.barrier();
    const double before = processor_seconds();
    if (team.rank() == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
    team.barrier();
    EXPECT_LT(processor_seconds() - before, 0.1);
}

} // namespace
} // namespace uzushio::staging
