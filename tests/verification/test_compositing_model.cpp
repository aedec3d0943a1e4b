// Messages of the algorithms, their predicted times, and the choice of `auto`.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "compositing/compositing_planner.hpp"
#include "compositing/compositing_schedule.hpp"
#include "compositing/performance_model.hpp"

namespace uzushio::compositing {
namespace {

constexpr int side = 512;

CompositingGroup tree(const char* method, int ranks, bool gather = true, int fan_in = 16) {
    std::vector<int> order(static_cast<std::size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    return build_tree(parse_algorithm(method), order,
                      {side * side, 0, gather, fan_in, ChannelWidth::narrow});
}

ImageShape shape() { return {side, side, ImageFormat::rgba8, 0, {}}; }

/// Return the number of messages that each rank receives.
std::vector<int> received(const CompositingGroup& group, int ranks) {
    std::vector<int> counts;
    for (int rank = 0; rank < ranks; ++rank) {
        int count = 0;
        for (const auto& stage : make_schedule(group, rank).stages)
            for (const auto& layer : stage.layers)
                count += static_cast<int>(
                    std::ranges::count_if(layer, [](const auto& from) { return from.rank >= 0; }));
        counts.push_back(count);
    }
    return counts;
}

TEST(Trees, TheRootGathersFromAFewRanksForAnyNumberOfRanks) {
    for (const auto* method : {"binary_swap", "radix_k(8)", "radix_k(2)"}) {
        const auto composited = received(tree(method, 1024, false), 1024);
        const auto gathered = received(tree(method, 1024), 1024);
        for (int rank = 0; rank < 1024; ++rank) {
            const auto r = static_cast<std::size_t>(rank);
            EXPECT_LE(gathered[r] - composited[r], 3 * 16) << method;
        }
    }
}

TEST(Trees, BinarySwapSendsOneMessageARoundAndHalvesThem) {
    const auto group = tree("binary_swap", 64, false);
    for (int rank = 0; rank < 64; ++rank) {
        const auto all = make_schedule(group, rank);
        ASSERT_EQ(all.stages.size(), 7U); // its image, and six rounds
        int pixels = side * side;
        for (std::size_t s = 0; s + 1 < all.stages.size(); ++s) {
            ASSERT_EQ(all.stages[s].outputs.size(), 2U);
            pixels /= 2;
            for (const auto& output : all.stages[s].outputs)
                EXPECT_EQ(output.region.size(), pixels);
        }
    }
}

TEST(Trees, WithAnyNumberOfRanksSwappingSendsLittleMoreThanTheImage) {
    for (const int ranks : {3, 5, 6, 7, 11, 13, 17, 100, 1000}) {
        const auto group = tree("binary_swap", ranks, false);
        for (int rank = 0; rank < ranks; ++rank) {
            int sent = 0;
            for (const auto& stage : make_schedule(group, rank).stages)
                for (const auto& output : stage.outputs)
                    sent += output.rank >= 0 ? output.region.size() : 0;
            EXPECT_LT(sent, 1.01 * side * side) << rank << " of " << ranks;
        }
    }
}

TEST(Trees, EveryMessageIsSentAndReceivedInTheSameOrder) {
    for (const auto* method :
         {"sequential", "direct_send", "parallel_pipeline", "binary_tree", "binary_swap",
          "radix_k(4)", "multi_step(5, radix_k(3), binary_swap)",
          "multi_step(4, parallel_pipeline, parallel_pipeline)"})
        for (const int ranks : {1, 2, 3, 7, 8, 23}) {
            const auto group = tree(method, ranks, true, 3);
            std::map<std::pair<int, int>, std::vector<Range>> sent, expected;
            for (int rank = 0; rank < ranks; ++rank)
                for (const auto& stage : make_schedule(group, rank).stages) {
                    for (const auto& layer : stage.layers)
                        for (const auto& from : layer)
                            if (from.rank >= 0)
                                expected[{from.rank, rank}].push_back(from.region);
                    for (const auto& output : stage.outputs)
                        if (output.rank >= 0)
                            sent[{rank, output.rank}].push_back(output.region);
                }
            EXPECT_EQ(sent, expected) << method << " on " << ranks;
        }
}

TEST(Model, IsEquationFourForBinarySwap) {
    // Latency 0 and eight-bit images: p (1 - 1/n) (1/bandwidth + 3/blending) for the exchange and
    // p (1 - 1/n) / bandwidth for the gather, except for the wider intermediate results.
    const MachineRates machine{0, 1e9, 8e9, 0};
    const double image = 4.0 * side * side;
    double time = 0;
    for (int round = 1; round <= 4; ++round) {
        const double part = image / (1 << round);
        const double in = round == 1 ? 1 : 2, out = round == 4 ? 1 : 2;
        time += in * part / machine.bandwidth + (2 * in + out) * part / machine.blending;
    }
    const double composited = predict(tree("binary_swap", 16, false), shape(), machine);
    EXPECT_NEAR(composited, time, 1e-9 * time);
    const double gathered = image * 15 / 16 / machine.bandwidth + 2 * image / machine.blending;
    EXPECT_NEAR(predict(tree("binary_swap", 16), shape(), machine), time + gathered, 0.05 * time);
}

TEST(Model, PaysLatencyForEveryMessageOfTheBusiestRank) {
    const MachineRates machine{1e-3, 1e15, 1e15, 0};
    EXPECT_NEAR(predict(tree("binary_swap", 64, false), shape(), machine), 6e-3, 1e-6);
    EXPECT_NEAR(predict(tree("direct_send", 64, false), shape(), machine), 63e-3, 1e-6);
    EXPECT_NEAR(predict(tree("radix_k(8)", 64, false), shape(), machine), 14e-3, 1e-6);
    EXPECT_NEAR(predict(tree("sequential", 64), shape(), machine), 63e-3, 1e-6);
}

TEST(Model, WithCostlyMessagesAFlatGatherLosesToSteps) {
    // With a gather of all parts at the root, binary-swap is slow on 4096 ranks; groups with a
    // gather each are faster.
    const MachineRates machine{5e-6, 1e9, 4e9, 0};
    const double flat = predict(tree("binary_swap", 4096, true, 4096), shape(), machine);
    const double steps = predict(tree("multi_step(64, binary_swap, binary_swap)", 4096, true, 4096),
                                 shape(), machine);
    const double fanned = predict(tree("binary_swap", 4096), shape(), machine);
    EXPECT_GT(flat, 4096 * machine.latency);
    EXPECT_LT(steps, flat);
    EXPECT_LT(fanned, steps);
}

TEST(Model, AutoFindsNothingSlowerThanItsCandidates) {
    for (const MachineRates& machine :
         {MachineRates{1e-6, 1e10, 1e10, 0}, MachineRates{1e-3, 1e10, 1e10, 0},
          MachineRates{1e-6, 1e7, 1e10, 0}})
        for (const int ranks : {1, 2, 5, 16, 200}) {
            std::vector<int> order(static_cast<std::size_t>(ranks));
            std::iota(order.begin(), order.end(), 0);
            const CompositingPlanner planner(shape(), 0, 0, true, 16, nullptr);
            const double chosen = planner.predict(planner.choose(order, machine), order, machine);
            for (const auto& method : candidate_algorithms(ranks))
                EXPECT_LE(chosen, planner.predict(method, order, machine)) << to_string(method);
        }
}

} // namespace
} // namespace uzushio::compositing
