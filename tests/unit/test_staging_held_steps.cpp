#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "staging/datamodel/model_error.hpp"
#include "staging/queue/held_steps.hpp"

namespace uzushio::staging {
namespace {

class Memory : public Segment {
  public:
    explicit Memory(std::size_t bytes) : bytes_(bytes) {
        for (std::size_t i = 0; i < bytes; ++i)
            bytes_[i] = static_cast<std::byte>(i);
    }
    std::span<std::byte> bytes() override { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

/// Return rank 1's part of a step: two blocks of 2 x 3 x 4 bytes, numbers 5 and 6 of the step.
std::shared_ptr<const HeldStep> held(std::uint64_t sequence) {
    auto part = std::make_shared<StepInfo>();
    part->coordsets = {{"mesh", UniformCoords{}}};
    part->topologies = {{"mesh", 0, 3, {{}, {2, 3, 8}}}};
    part->fields = {{"u", 0, Association::element, ScalarType::uint8, 1, {}}};
    for (std::int64_t i = 0; i < 2; ++i) {
        Block block = Block::with_elements(Box::at({0, 0, 4 * i}, {2, 3, 4}));
        block.id = static_cast<std::uint64_t>(i);
        block.rank = 1;
        StoredArray array;
        array.offset = static_cast<std::uint64_t>(24 * i);
        array.layout = interleaved({2, 3, 4}, 1, 1);
        block.arrays = {array};
        part->blocks.push_back(block);
    }
    validate(*part);
    return std::make_shared<const HeldStep>(
        HeldStep{sequence, part, 5, std::make_shared<Memory>(48)});
}

TEST(StagingHeldSteps, AreFoundUntilRemovedAndExistWhileTheyAreSent) {
    HeldSteps steps;
    for (std::uint64_t i = 3; i < 7; ++i)
        steps.put(held(i));
    const auto sending = steps.find(4);
    const std::weak_ptr<const HeldStep> other = steps.find(5);
    const std::uint64_t kept[] = {6, 3, 99};
    steps.keep(kept);
    EXPECT_NE(steps.find(3), nullptr);
    EXPECT_EQ(steps.find(4), nullptr);
    EXPECT_EQ(steps.find(5), nullptr);
    EXPECT_NE(steps.find(6), nullptr);
    EXPECT_TRUE(other.expired());
    EXPECT_EQ(sending->sequence, 4u);
    EXPECT_EQ(sending->segment->bytes()[7], std::byte{7});
    steps.keep({});
    EXPECT_EQ(steps.find(6), nullptr);
}

TEST(StagingHeldSteps, ARequestIndexesBlocksOfTheWholeStep) {
    const auto step = held(0);
    PieceRequest request;
    request.block = 6;
    request.source = Box::at({1, 2, 3}, {1, 1, 1});
    EXPECT_EQ(*select(*step, 1, request).data, std::byte{47}) << "last value";
    request.block = 5;
    EXPECT_EQ(*select(*step, 1, request).data, std::byte{23});
}

TEST(StagingHeldSteps, ARequestForBlocksOfOtherRanksOrBeyondTheTableIsRefused) {
    const auto step = held(0);
    PieceRequest request;
    request.source = {{0, 0, 0}, {1, 1, 1}};
    for (const std::uint32_t block : {0u, 4u, 7u, 0xFFFFFFFFu}) {
        request.block = block;
        EXPECT_THROW((void)select(*step, 1, request), ModelError) << block;
    }
    request.block = 5;
    EXPECT_THROW((void)select(*step, 0, request), ModelError) << "another rank's";
    request.source = {{0, 0, 0}, {2, 3, 5}};
    EXPECT_THROW((void)select(*step, 1, request), ModelError) << "a box beyond the array";
}

} // namespace
} // namespace uzushio::staging
