// Main function of every C++ test: rank 0 reports, the others print failures only, and a failure on
// any rank fails the job.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

namespace {

class FailuresOfOneRank : public testing::EmptyTestEventListener {
  public:
    explicit FailuresOfOneRank(int rank) : rank_(rank) {}

    void OnTestPartResult(const testing::TestPartResult& result) override {
        if (!result.failed())
            return;
        std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank_,
                     result.file_name() != nullptr ? result.file_name() : "unknown file",
                     result.line_number(), result.message());
    }

  private:
    int rank_;
};

} // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    int threads = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {
        auto& listeners = testing::UnitTest::GetInstance()->listeners();
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new FailuresOfOneRank(rank)); // GoogleTest owns it
    }

    int failed = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return failed;
}
