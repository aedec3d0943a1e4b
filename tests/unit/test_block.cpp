#include <gtest/gtest.h>

#include "parallel/block.hpp"

namespace uzushio::parallel {
namespace {

TEST(Block, CoversEveryIndexOnceWithSizesThatDifferByAtMostOne) {
    for (int count = 1; count < 40; ++count)
        for (int parts = 1; parts <= count; ++parts) {
            int next = 0;
            for (int i = 0; i < parts; ++i) {
                const auto range = block(count, parts, i);
                EXPECT_EQ(range.begin, next);
                EXPECT_GE(range.size(), count / parts);
                EXPECT_LE(range.size(), count / parts + 1);
                next = range.end;
            }
            EXPECT_EQ(next, count);
        }
}

} // namespace
} // namespace uzushio::parallel
