#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "domain/decomposition.hpp"
#include "domain/halo_plan.hpp"
#include "domain/mesh_error.hpp"
#include "domain/process_counts.hpp"
#include "domain/zone_parts.hpp"
#include "support/cylinder_mesh.hpp"
#include "support/oriented_zones.hpp"

namespace uzushio::domain {
namespace {

std::shared_ptr<const Mesh> box_mesh(const Index<3>& cells, const std::array<bool, 3>& periodic) {
    return OrientedZones(cells, periodic, {{Box<3>::of(cells), {}}}).mesh();
}

/// Return the number of cell sides between ranks, counted one by one.
std::int64_t counted_surface(const Decomposition& decomposition, const Index<3>& cells,
                             const std::array<bool, 3>& periodic) {
    const auto rank_of = [&](const Index<3>& at) {
        const auto ids = decomposition.find(0, {at, {at[0] + 1, at[1] + 1, at[2] + 1}});
        return decomposition.block(ids.at(0)).rank;
    };
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < cells[2]; ++k)
        for (std::int64_t j = 0; j < cells[1]; ++j)
            for (std::int64_t i = 0; i < cells[0]; ++i)
                for (std::size_t a = 0; a < 3; ++a) {
                    Index<3> next{i, j, k};
                    next[a] += 1;
                    if (next[a] == cells[a] && !periodic[a])
                        continue;
                    next[a] %= cells[a];
                    count += rank_of({i, j, k}) != rank_of(next) ? 1 : 0;
                }
    return count;
}

/// Return the minimum surface over all ways to cut a box by planes into `parts` parts.
std::int64_t least_of_all(const Index<3>& cells, int parts, const std::array<bool, 3>& periodic) {
    auto least = std::numeric_limits<std::int64_t>::max();
    for (int i = 1; i <= std::min<std::int64_t>(parts, cells[0]); ++i)
        for (int j = 1; j <= std::min<std::int64_t>(parts, cells[1]); ++j)
            for (int k = 1; k <= std::min<std::int64_t>(parts, cells[2]); ++k) {
                if (i * j * k != parts)
                    continue;
                const std::array counts{i, j, k};
                std::int64_t surface = 0;
                for (std::size_t a = 0; a < 3; ++a)
                    for (int cut = 1; cut <= counts[a]; ++cut)
                        if (cut < counts[a] || (periodic[a] && counts[a] > 1))
                            surface += Box<3>::of(cells).volume() / cells[a];
                least = std::min(least, surface);
            }
    return least;
}

TEST(Decomposition, CutsABoxWithTheMinimumSurface) {
    std::mt19937 random(1);
    for (int round = 0; round < 12; ++round) {
        Index<3> cells{};
        for (std::int64_t& count : cells)
            count = 3 + static_cast<int>(random() % 8);
        const std::array<bool, 3> periodic{random() % 2 == 0, random() % 2 == 0, random() % 2 == 0};
        const auto mesh = box_mesh(cells, periodic);
        for (const int ranks : {1, 2, 3, 4, 6, 8, 12, 18}) {
            const auto least = least_of_all(cells, ranks, periodic);
            if (least == std::numeric_limits<std::int64_t>::max()) {
                EXPECT_THROW(static_cast<void>(Decomposition::cartesian(mesh, ranks)), MeshError);
                continue;
            }
            const auto decomposition = Decomposition::cartesian(mesh, ranks);
            EXPECT_EQ(counted_surface(decomposition, cells, periodic), least);
            for (int rank = 0; rank < ranks; ++rank)
                EXPECT_EQ(decomposition.blocks_of(rank).size(), 1U);
        }
    }
}

TEST(Decomposition, CutsABoxIntoTheGivenNumberOfBlocks) {
    const auto mesh = box_mesh({8, 6, 5}, {false, false, false});
    const auto slabs = Decomposition::cartesian(mesh, {1, 1, 5});
    for (int rank = 0; rank < 5; ++rank)
        EXPECT_EQ(slabs.block(slabs.blocks_of(rank)[0]).cells,
                  (Box<3>{{0, 0, rank}, {8, 6, rank + 1}}));
    const auto pencils = Decomposition::cartesian(mesh, {2, 3, 1});
    EXPECT_EQ(pencils.block(pencils.blocks_of(1)[0]).cells, (Box<3>{{4, 0, 0}, {8, 2, 5}}));
    EXPECT_EQ(pencils.block(pencils.blocks_of(2)[0]).cells, (Box<3>{{0, 2, 0}, {4, 4, 5}}));
    EXPECT_THROW(static_cast<void>(Decomposition::cartesian(mesh, {1, 1, 6})), MeshError);
    EXPECT_THROW(static_cast<void>(Decomposition::cartesian(mesh, {0, 1, 1})), MeshError);
}

TEST(Decomposition, PrefersSlabsWhereMovingValuesCostsMore) {
    const auto flat = box_mesh({64, 64, 32}, {true, true, false});
    // Two ranks: 4096 cell sides instead of 2 x 2048 of a periodic axis; 131 072 values are moved.
    EXPECT_TRUE(are_slabs_cheaper(*flat, 2, 2, 8));
    // 64 ranks: 63 x 4096 sides of slabs against 9 x 4096 of 4 x 4 x 4 blocks; 516 096 values.
    const auto cube = box_mesh({64, 64, 64}, {false, false, false});
    EXPECT_FALSE(are_slabs_cheaper(*cube, 2, 64, 8));
    EXPECT_FALSE(are_slabs_cheaper(*flat, 2, 33, 8)) << "there are 32 planes";
    EXPECT_FALSE(are_slabs_cheaper(*flat, 2, 1, 8));
}

TEST(Decomposition, CountsMessagesAndBytesOfAnExchangeOfACube) {
    const auto mesh = box_mesh({8, 8, 8}, {true, true, true});
    const auto decomposition = Decomposition::cartesian(mesh, 8);
    const std::array specs{FieldSpec{"u", 3, 1}, FieldSpec{"p", 1, 2}};
    EXPECT_DOUBLE_EQ(decomposition.imbalance(), 1.0);
    const auto faces = halo_volume(decomposition, specs, Reach::faces);
    EXPECT_EQ(faces.max_rank_bytes, 8 * 6 * 16 * (3 + 2));
    EXPECT_EQ(faces.bytes, 8 * faces.max_rank_bytes);
    EXPECT_EQ(faces.messages, 8 * 3); // two parts per axis: both sides have the same neighbour
    const auto corners = halo_volume(decomposition, specs, Reach::corners);
    EXPECT_EQ(corners.max_rank_bytes, 8 * (3 * (216 - 64) + 512 - 64));
    EXPECT_EQ(corners.messages, 8 * 7);
}

TEST(Decomposition, BalancesMultiblockMeshesWithinTheBound) {
    const auto cylinder = cylinder_mesh(16, 16);
    for (const int ranks : {1, 2, 3, 5, 7, 12, 16, 40}) {
        const auto decomposition = Decomposition::multiblock(cylinder, ranks);
        EXPECT_LE(decomposition.imbalance(), 1.05) << ranks << " ranks";
        for (int rank = 0; rank < ranks; ++rank)
            EXPECT_GT(decomposition.blocks_of(rank).size(), 0U);
    }
    for (unsigned seed = 0; seed < 6; ++seed) { // zones of very different sizes
        const auto mesh = OrientedZones::random({30, 24, 28}, {true, false, true}, 9, seed).mesh();
        for (const int ranks : {2, 5, 8, 13})
            EXPECT_LE(Decomposition::multiblock(mesh, ranks, 1.1).imbalance(), 1.1)
                << "seed " << seed << ", " << ranks << " ranks";
    }
}

TEST(Decomposition, GivesEachRankABlockOfAFewCells) {
    for (const Index<3>& cells : {Index<3>{2, 3, 1}, {3, 3, 1}, {5, 2, 1}, {4, 4, 1}, {2, 3, 2}}) {
        const auto mesh = box_mesh(cells, {false, false, true});
        for (int ranks = 1; ranks <= Box<3>::of(cells).volume(); ++ranks) {
            const auto decomposition = Decomposition::multiblock(mesh, ranks);
            for (int rank = 0; rank < ranks; ++rank)
                EXPECT_GT(decomposition.blocks_of(rank).size(), 0U)
                    << "of " << cells[0] << " x " << cells[1] << " cells on " << ranks << " ranks";
        }
    }
}

TEST(Decomposition, AssignsNeighboursToTheSameRank) {
    // Compared with the same blocks assigned in turn.
    const auto mesh = cylinder_mesh(12, 12);
    const FieldSpec spec{"u", 1, 1};
    const auto ours = Decomposition::multiblock(mesh, 3, 1.1);
    std::vector<Block> dealt = ours.blocks();
    for (Block& block : dealt)
        block.rank = block.id % 3;
    const auto bytes = [&](const Decomposition& d) {
        return halo_volume(d, std::span(&spec, 1), Reach::faces).bytes;
    };
    EXPECT_LT(bytes(ours), 0.8 * static_cast<double>(bytes(Decomposition(mesh, dealt, 3))));
}

TEST(Decomposition, IsReproducible) {
    const auto one = Decomposition::multiblock(cylinder_mesh(8, 8), 5);
    const auto other = Decomposition::multiblock(cylinder_mesh(8, 8), 5);
    ASSERT_EQ(one.blocks().size(), other.blocks().size());
    for (std::size_t b = 0; b < one.blocks().size(); ++b) {
        EXPECT_EQ(one.blocks()[b].rank, other.blocks()[b].rank);
        EXPECT_EQ(one.blocks()[b].cells, other.blocks()[b].cells);
    }
}

TEST(Decomposition, RefusesBlocksThatDoNotCoverEachZoneOnce) {
    const auto mesh = box_mesh({4, 4, 4}, {});
    const auto error = [&](std::vector<Block> blocks, int ranks = 2) -> std::string {
        try {
            const Decomposition decomposition(mesh, std::move(blocks), ranks);
        } catch (const MeshError& e) {
            return e.what();
        }
        return "no error";
    };
    const Block lower{0, 0, 0, {{0, 0, 0}, {4, 4, 2}}}, upper{0, 0, 1, {{0, 0, 2}, {4, 4, 4}}};
    EXPECT_EQ(error({lower, upper}), "no error");
    EXPECT_EQ(error({lower}), "zone 'zone 0': no block holds cells [0:4, 0:4, 2:4]");
    EXPECT_EQ(error({lower, upper, {0, 0, 0, {{1, 1, 1}, {2, 2, 2}}}}),
              "zone 'zone 0', block 0 of cells [0:4, 0:4, 0:2]: block 2 holds some of them too");
    EXPECT_EQ(error({lower, {0, 0, 1, {{0, 0, 2}, {4, 4, 5}}}}),
              "zone 'zone 0', block 1 of cells [0:4, 0:4, 2:5]: it must have cells and lie within "
              "the zone");
    EXPECT_EQ(error({lower, upper}, 1), "block 1 is on rank 1 of 1 and in zone 0 of 1");
    EXPECT_THROW(static_cast<void>(Decomposition::multiblock(mesh, 65)), MeshError);
    EXPECT_THROW(static_cast<void>(Decomposition::cartesian(cylinder_mesh(4, 4), 2)), MeshError);
    EXPECT_EQ(Decomposition::multiblock(mesh, 64).blocks().size(), 64U);
}

} // namespace
} // namespace uzushio::domain
