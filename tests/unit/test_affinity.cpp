// Placement of ranks and threads on the cores of a node.
#include "parallel/affinity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

using namespace uzushio::parallel;

namespace {

/// A node of T2K: four processors with four cores and memory each.
const char* const t2k = "numa:4 core:4 pu:1";
const char* const t2k_smt = "numa:4 core:4 pu:2";

Processors all_of(const NodeTopology& topology) {
    Processors all;
    for (const auto& core : topology.cores())
        all.insert(all.end(), core.processors.begin(), core.processors.end());
    std::sort(all.begin(), all.end());
    return all;
}

std::vector<RankPlace> place(const char* node, const char* policy, int ranks, int threads = 1) {
    const NodeTopology topology = NodeTopology::synthetic(node);
    return place_ranks(topology, policy, all_of(topology), ranks, threads);
}

/// First processor of the first thread of each rank.
Processors firsts(const std::vector<RankPlace>& places) {
    Processors found;
    for (const RankPlace& rank : places)
        found.push_back(rank.at(0).at(0));
    return found;
}

Processors range(int begin, int end) {
    Processors numbers;
    for (int n = begin; n < end; ++n)
        numbers.push_back(n);
    return numbers;
}

} // namespace

TEST(Affinity, TopologyOfASyntheticNode) {
    const NodeTopology node = NodeTopology::synthetic(t2k_smt);
    ASSERT_EQ(node.cores().size(), 16U);
    EXPECT_EQ(node.cores()[5].processors, (Processors{10, 11}));
    EXPECT_EQ(node.cores()[5].domain, 1);
    EXPECT_THROW(NodeTopology::synthetic("cores: many"), std::invalid_argument);
}

TEST(Affinity, CompactRanksAreNeighbours) {
    EXPECT_EQ(firsts(place(t2k, "compact", 5)), range(0, 5));
    const auto hybrid = place(t2k, "compact", 3, 4);
    EXPECT_EQ(hybrid[1], (RankPlace{{4}, {5}, {6}, {7}}));
    EXPECT_EQ(hybrid[2], (RankPlace{{8}, {9}, {10}, {11}}));
}

TEST(Affinity, ScatteredRanksTakeTheDomainsInTurn) {
    EXPECT_EQ(firsts(place(t2k, "scatter", 6)), (Processors{0, 4, 8, 12, 1, 5}));
    const auto hybrid = place(t2k, "scatter", 5, 2);
    EXPECT_EQ(hybrid[0], (RankPlace{{0}, {1}}));
    EXPECT_EQ(hybrid[1], (RankPlace{{4}, {5}}));
    EXPECT_EQ(hybrid[4], (RankPlace{{2}, {3}}));
    // Packages first, then the caches inside them.
    EXPECT_EQ(firsts(place("pack:2 l3:2 core:2 pu:1", "scatter", 8)),
              (Processors{0, 4, 2, 6, 1, 5, 3, 7}));
}

TEST(Affinity, NumaBlockIsTheModeNuma1OfT2k) {
    const auto flat = place(t2k, "numa_block", 16);
    for (int rank = 0; rank < 16; ++rank) {
        const int domain = rank / 4 % 4;
        EXPECT_EQ(flat[static_cast<std::size_t>(rank)],
                  (RankPlace{range(4 * domain, 4 * domain + 4)}));
    }
}

TEST(Affinity, NumaCyclicIsTheModeNuma2OfT2k) {
    const auto hybrid = place(t2k, "numa_cyclic", 4, 4);
    for (int rank = 0; rank < 4; ++rank)
        EXPECT_EQ(hybrid[static_cast<std::size_t>(rank)],
                  RankPlace(4, range(4 * rank, 4 * rank + 4)));
    EXPECT_EQ(firsts(place(t2k, "numa_cyclic", 6)), (Processors{0, 4, 8, 12, 0, 4}));
    // With a rank per domain both variants are the same.
    EXPECT_EQ(place(t2k, "numa_block", 4, 4), hybrid);
}

TEST(Affinity, ARankWithMoreThreadsThanADomainHasSeveralDomains) {
    const auto two = place(t2k, "numa_block", 2, 8);
    EXPECT_EQ(two[0], RankPlace(8, range(0, 8)));
    EXPECT_EQ(two[1], RankPlace(8, range(8, 16)));
    // Three domains cannot be divided between two ranks: the last one belongs to the second.
    EXPECT_EQ(place("numa:3 core:4 pu:1", "numa_block", 1, 8)[0], RankPlace(8, range(0, 12)));
}

TEST(Affinity, ThreadsHaveCoresWhileThereAreEnoughAndThenHardwareThreads) {
    const auto cores = place(t2k_smt, "compact", 16);
    EXPECT_EQ(cores[1], (RankPlace{{2, 3}}));
    const auto processors = place(t2k_smt, "compact", 8, 4);
    EXPECT_EQ(processors[1], (RankPlace{{4}, {5}, {6}, {7}}));
    EXPECT_EQ(place(t2k_smt, "numa_block", 32)[8], (RankPlace{range(8, 16)}));
    EXPECT_EQ(firsts(place(t2k_smt, "scatter", 32)),
              (Processors{0, 8, 16, 24, 2, 10, 18, 26, 4, 12, 20, 28, 6, 14, 22, 30,
                          1, 9, 17, 25, 3, 11, 19, 27, 5, 13, 21, 29, 7, 15, 23, 31}));
}

TEST(Affinity, MoreThreadsThanProcessorsShareThem) {
    EXPECT_EQ(firsts(place("core:2 pu:1", "compact", 5)), (Processors{0, 1, 0, 1, 0}));
    EXPECT_EQ(firsts(place("core:2 pu:1", "scatter", 3)), (Processors{0, 1, 0}));
    EXPECT_EQ(place("core:2 pu:1", "compact", 1, 3)[0], (RankPlace{{0}, {1}, {0}}));
    EXPECT_EQ(firsts(place("core:2 pu:1", "numa_block", 3)), (Processors{0, 0, 0}));
}

TEST(Affinity, OnlyAvailableProcessorsAreUsed) {
    const NodeTopology node = NodeTopology::synthetic(t2k);
    const Processors available{2, 3, 9, 10, 40};
    EXPECT_EQ(firsts(place_ranks(node, "compact", available, 4, 1)), (Processors{2, 3, 9, 10}));
    EXPECT_EQ(firsts(place_ranks(node, "scatter", available, 4, 1)), (Processors{2, 9, 3, 10}));
    EXPECT_EQ(place_ranks(node, "numa_cyclic", available, 2, 1)[1], (RankPlace{{9, 10}}));
    EXPECT_THROW(place_ranks(node, "compact", {40}, 1, 1), std::invalid_argument);
    EXPECT_THROW(place_ranks(node, "compact", available, 0, 1), std::invalid_argument);
    EXPECT_THROW(place_ranks(node, "spread", available, 1, 1), std::invalid_argument);
}

TEST(Affinity, BoundThreadsAreReadBackAndNewThreadsInheritTheRanksProcessors) {
    const NodeTopology node = NodeTopology::of_this_node();
    const Processors before = node.bound_processors();
    ASSERT_FALSE(before.empty());
    const int threads = static_cast<int>(std::min<std::size_t>(2, before.size()));
    const auto wanted = place_ranks(node, "compact", before, 1, threads)[0];
    const RankPlace bound = bind_rank(node, wanted);
    std::set<int> all;
    for (const Processors& one : wanted)
        all.insert(one.begin(), one.end());
    EXPECT_EQ(bound[0], Processors(all.begin(), all.end()));
    for (std::size_t t = 1; t < wanted.size(); ++t)
        EXPECT_EQ(bound[t], wanted[t]);
    Processors inherited;
    std::thread([&] { inherited = node.bound_processors(); }).join();
    EXPECT_EQ(inherited, bound[0]);
    EXPECT_THROW(bind_rank(node, {{100000}}), std::runtime_error);
    EXPECT_TRUE(node.bind_thread(before));
}
