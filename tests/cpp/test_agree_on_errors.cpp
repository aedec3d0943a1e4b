// Errors of some ranks become errors of all.
// ranks: 1 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <stdexcept>
#include <string>

#include "parallel/agree_on_errors.hpp"

namespace uzushio::parallel {
namespace {

class AgreeOnErrors : public testing::Test {
  protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    }

    static std::string thrown(const std::string& error) {
        try {
            agree_on_errors<std::invalid_argument>(MPI_COMM_WORLD, error);
        } catch (const std::invalid_argument& caught) {
            return caught.what();
        }
        return "nothing";
    }

    int rank_ = 0, ranks_ = 1;
};

TEST_F(AgreeOnErrors, WithoutErrorsNothingIsThrown) { EXPECT_EQ(thrown(""), "nothing"); }

TEST_F(AgreeOnErrors, AnErrorOfOneRankIsThrownOnAllAndNamesTheRank) {
    const int failing = ranks_ - 1;
    const std::string error = "the file is empty";
    EXPECT_EQ(thrown(rank_ == failing ? error : ""),
              rank_ == failing ? error : "rank " + std::to_string(failing) + ": " + error);
}

TEST_F(AgreeOnErrors, OfSeveralErrorsTheLowestRanksIsThrown) {
    EXPECT_EQ(thrown("rank " + std::to_string(rank_) + " failed"),
              rank_ == 0 ? "rank 0 failed" : "rank 0: rank 0 failed");
}

TEST_F(AgreeOnErrors, AnErrorThatAllRanksHaveNamesNoRank) {
    EXPECT_EQ(thrown("no such algorithm"), "no such algorithm");
}

TEST_F(AgreeOnErrors, LongMessagesArriveWhole) {
    const std::string error(100000, 'x');
    EXPECT_EQ(thrown(rank_ == 0 ? error : ""), rank_ == 0 ? error : "rank 0: " + error);
}

} // namespace
} // namespace uzushio::parallel
