// ranks: 3
// Memory of the ranks of a node: values that others wrote, and a rank that does not arrive.
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include "parallel/shared_arrays.hpp"

namespace uzushio::parallel {
namespace {

int& number(const SharedArrays& memory, int rank) {
    return *reinterpret_cast<int*>(memory.of(rank));
}

TEST(SharedArrays, AnotherRankReadsWhatWasWrittenBeforeThePoint) {
    const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
    SharedArrays memory(all, sizeof(int));
    ASSERT_TRUE(memory.is_complete());
    const int next = (all.rank() + 1) % all.size();
    number(memory, next) = 10 + all.rank();
    memory.wait(memory.arrive());
    EXPECT_EQ(number(memory, all.rank()), 10 + (all.rank() + all.size() - 1) % all.size());
}

TEST(SharedArrays, NamesARankThatDoesNotArrive) {
    const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
    SharedArrays memory(all, sizeof(int));
    ASSERT_TRUE(memory.is_complete());
    if (all.rank() != 1) {
        const auto point = memory.arrive();
        try {
            memory.wait(point, std::chrono::milliseconds(20));
            FAIL() << "did not wait for rank 1";
        } catch (const std::runtime_error& error) {
            EXPECT_NE(std::string(error.what()).find("no answer from rank"), std::string::npos);
            EXPECT_NE(std::string(error.what()).find('1'), std::string::npos);
        }
    }
    MPI_Barrier(all.get());
    if (all.rank() == 1)
        memory.arrive();
    memory.wait(1); // all have arrived now
}

} // namespace
} // namespace uzushio::parallel
