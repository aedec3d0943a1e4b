// Functions that BlockSolver derives from declarations, for the heat equation on five zones.
// ranks: 1 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <limits>

#include "domain/mesh_error.hpp"
#include "support/heat_solver.hpp"

namespace uzushio::domain {
namespace {

constexpr double unlimited_dt = std::numeric_limits<double>::infinity();

int world_size() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

std::int64_t max_over_ranks(std::int64_t value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    return value;
}

/// One zone between two walls; u_t = rate.
class Growth : public BlockSolver {
  public:
    explicit Growth(double rate, std::string wall = "wall") : rate_(rate), wall_(std::move(wall)) {}

  protected:
    [[nodiscard]] SolverDeclaration declare() const override {
        Zone zone{"box", {6, 5, 4}, Coordinates::uniform({0, 0, 0}, {1, 1, 1}), {}, {}};
        for (const Face& face : faces(3))
            zone.set_boundary(face, "wall");
        return {.mesh = std::make_shared<const Mesh>(3, std::vector{zone}),
                .fields = {{.spec = {"u", 1, 2}, .boundaries = {{wall_, fixed_value(3)}}}},
                .reach = Reach::corners};
    }
    void initial(const SolverBlock& block) override {
        for_indices(block.cells(), [&](const Index<3>& at) {
            block.field("u")(at) = static_cast<double>(at[0] + 10 * at[1]);
        });
    }
    void rhs(const SolverBlock& block, double) override {
        for_indices(block.cells(), [&](const Index<3>& at) { block.derivative("u")(at) = rate_; });
    }
    double stable_dt(const SolverBlock& block) override { return 1.0 + block.block().id; }

  private:
    double rate_;
    std::string wall_;
};

TEST(BlockSolver, SendsTheEstimatedMessagesAndBytes) {
    HeatSolver solver(6, 5);
    const SolverEstimate estimate = solver.estimate(world_size());
    solver.set_up(MPI_COMM_WORLD);
    solver.begin();
    solver.step(unlimited_dt, 0.5);
    const parallel::Sent sent = solver.traffic()[parallel::Exchange::halo];
    EXPECT_EQ(max_over_ranks(sent.messages), estimate.halo_messages);
    EXPECT_EQ(max_over_ranks(sent.bytes), estimate.halo_bytes);
    EXPECT_EQ(estimate.halo_bytes > 0, world_size() > 1);
    EXPECT_EQ(static_cast<std::size_t>(estimate.blocks), solver.decomposition().blocks().size());
    std::int64_t cells = 0;
    for (std::size_t b = 0; b < solver.blocks(); ++b)
        cells += solver.block(b).cells().volume();
    EXPECT_EQ(max_over_ranks(cells), estimate.cells);
}

TEST(BlockSolver, TakesTheMinimumStableStepOfAllBlocksOrALimit) {
    Growth solver(2);
    solver.set_up(MPI_COMM_WORLD);
    solver.begin();
    EXPECT_EQ(solver.step(unlimited_dt, 0.5), 0.5); // the stable step of block 0 is 1
    EXPECT_EQ(solver.step(0.25), 0.25);
    EXPECT_EQ(solver.time(), 0.75);
    for (std::size_t b = 0; b < solver.blocks(); ++b)
        for_indices(solver.block(b).cells(), [&](const Index<3>& at) {
            EXPECT_NEAR(solver.block(b).field("u")(at),
                        1.5 + static_cast<double>(at[0] + 10 * at[1]), 1e-13);
        });
}

TEST(BlockSolver, FixesTheValueAtTheWallByTheMirrorImage) {
    Growth solver(0);
    solver.set_up(MPI_COMM_WORLD);
    solver.begin();
    solver.update_derived();
    int walls = 0;
    for (std::size_t b = 0; b < solver.blocks(); ++b) {
        const SolverBlock block = solver.block(b);
        if (block.cells().lower[0] != 0)
            continue;
        ++walls;
        for (std::int64_t j = block.cells().lower[1]; j < block.cells().upper[1]; ++j)
            for (const std::int64_t layer : {1, 2}) {
                const View<double> u = block.field("u");
                const std::int64_t k = block.cells().lower[2];
                EXPECT_EQ((u(-layer, j, k) + u(layer - 1, j, k)) / 2, 3);
            }
    }
    EXPECT_GT(max_over_ranks(walls), 0);
}

TEST(BlockSolver, ReportsANonFiniteValueOnAllRanks) {
    Growth solver(1);
    solver.set_up(MPI_COMM_WORLD);
    EXPECT_THROW(solver.step(1e-3), std::logic_error); // its fields are not set
    solver.begin();
    EXPECT_TRUE(solver.finite());
    if (solver.blocks() > 0 && solver.rank() == 0)
        solver.block(0).field("u")(solver.block(0).cells().lower) =
            std::numeric_limits<double>::quiet_NaN();
    solver.resume(0);
    EXPECT_FALSE(solver.finite());
}

TEST(BlockSolver, NamesFieldAndFaceOfAMissingBoundaryCondition) {
    try {
        static_cast<void>(Growth(1, "door").declaration());
        FAIL() << "accepted";
    } catch (const MeshError& error) {
        const std::string text = error.what();
        for (const char* part : {"zone 'box'", "face i-min", "field 'u'", "'wall'"})
            EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    EXPECT_THROW(static_cast<void>(Growth(1).field("u")), std::logic_error);
}

} // namespace
} // namespace uzushio::domain
