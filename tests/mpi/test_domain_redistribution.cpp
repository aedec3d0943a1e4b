// ranks: 1 2 3 7
#include <gtest/gtest.h>
#include <mpi.h>

#include <random>

#include "domain/field.hpp"
#include "domain/redistribution.hpp"
#include "support/cylinder_mesh.hpp"

namespace uzushio::domain {
namespace {

using parallel::Exchange;
using parallel::Traffic;

constexpr double untouched = -1e300;

int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
int world_size() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/// Return random boxes in two zones on random ranks; some are empty, some overlap.
std::vector<Part> random_parts(std::mt19937& random, int count) {
    std::vector<Part> parts;
    for (int p = 0; p < count; ++p) {
        Part part{static_cast<int>(random() % static_cast<unsigned>(world_size())),
                  static_cast<int>(random() % 2),
                  {}};
        for (std::size_t a = 0; a < 3; ++a) {
            part.box.lower[a] = static_cast<int>(random() % 12) - 2;
            part.box.upper[a] = part.box.lower[a] + static_cast<int>(random() % 9);
        }
        parts.push_back(part);
    }
    return parts;
}

double value(std::size_t source, const Index<3>& at, int component) {
    return static_cast<double>(at[0] + 100 * at[1] + 10000 * at[2]) +
           1e6 * static_cast<double>(source) + 0.25 * component;
}

/// Array with one ghost layer for each of this rank's parts.
struct Arrays {
    Arrays(const std::vector<Part>& parts, int components) {
        for (std::size_t p = 0; p < parts.size(); ++p) {
            if (parts[p].rank != world_rank())
                continue;
            const Box<3> stored = parts[p].box.grown(1);
            ids.push_back(p);
            values.emplace_back(static_cast<std::size_t>(stored.volume() * components), untouched);
            views.emplace_back(values.back().data(), stored, components);
        }
    }
    std::vector<std::size_t> ids;
    std::vector<std::vector<double>> values;
    std::vector<View<double>> views;
};

TEST(Redistribution, MovesEachValueFromTheFirstSourceThatContainsIt) {
    for (unsigned seed = 0; seed < 25; ++seed) {
        std::mt19937 random(seed);
        const RedistributionPlan plan(random_parts(random, 1 + static_cast<int>(random() % 12)),
                                      random_parts(random, 1 + static_cast<int>(random() % 12)));
        constexpr int components = 2;
        Arrays sources(plan.sources(), components), targets(plan.targets(), components);
        for (std::size_t s = 0; s < sources.ids.size(); ++s)
            for_indices(plan.sources()[sources.ids[s]].box, [&](const Index<3>& at) {
                for (int c = 0; c < components; ++c)
                    sources.views[s](at, c) = value(sources.ids[s], at, c);
            });
        Traffic traffic;
        Redistribution<double> redistribution(MPI_COMM_WORLD, plan, components, traffic);
        const std::vector<View<const double>> from(sources.views.begin(), sources.views.end());
        for (int round = 0; round < 2; ++round)
            redistribution.run(from, targets.views);

        for (std::size_t t = 0; t < targets.ids.size(); ++t) {
            const Part& target = plan.targets()[targets.ids[t]];
            for_indices(targets.views[t].box(), [&](const Index<3>& at) {
                double expected = untouched;
                for (std::size_t s = plan.sources().size(); s-- > 0;)
                    if (plan.sources()[s].zone == target.zone && target.box.contains(at) &&
                        plan.sources()[s].box.contains(at))
                        expected = value(s, at, 1);
                EXPECT_EQ(targets.views[t](at, 1), expected) << "seed " << seed;
            });
        }
        EXPECT_EQ(traffic[Exchange::redistribution].messages, 2 * redistribution.messages());
        EXPECT_EQ(traffic[Exchange::redistribution].bytes, 2 * redistribution.bytes());
        std::int64_t leaving = 0; // counted by the moves from sources
        for (std::size_t t = 0; t < plan.targets().size(); ++t)
            for (const Move& move : plan.moves_to(t))
                if (plan.sources()[move.source].rank == world_rank() &&
                    plan.targets()[t].rank != world_rank())
                    leaving += 8 * components * move.box.volume();
        EXPECT_EQ(redistribution.bytes(), leaving);
        if (testing::Test::HasFailure())
            FAIL() << "seed " << seed;
    }
}

TEST(RedistributionPlan, ReportsIndicesThatNoSourceContains) {
    const RedistributionPlan plan({{0, 0, {{0, 0, 0}, {4, 4, 4}}}, {0, 1, {{0, 0, 0}, {9, 9, 9}}}},
                                  {{0, 0, {{1, 1, 1}, {6, 4, 4}}}});
    BoxSet<3> missing;
    const auto moves = plan.moves_to(0, &missing);
    ASSERT_EQ(moves.size(), 1U);
    EXPECT_EQ(moves[0].box, (Box<3>{{1, 1, 1}, {4, 4, 4}}));
    EXPECT_EQ(missing, (BoxSet<3>{{{4, 1, 1}, {6, 4, 4}}}));
    EXPECT_EQ(plan.moves_from(0).size(), 1U);
    EXPECT_TRUE(plan.moves_from(1).empty());
}

TEST(Redistribution, MovesAFieldToAnotherDecompositionAndBack) {
    const auto mesh = cylinder_mesh(7, 5);
    const auto one = Decomposition::multiblock(mesh, world_size());
    std::vector<Block> blocks; // complete zones, assigned in turn
    for (int zone = 0; zone < 5; ++zone)
        blocks.push_back(
            {0, zone, (zone * 3 + 1) % world_size(), Box<3>::of(mesh->zone(zone).cells)});
    const Decomposition other(mesh, blocks, world_size());
    const FieldSpec spec{"u", 3, 2};
    Field<double> start(one, world_rank(), spec), there(other, world_rank(), spec),
        back(one, world_rank(), spec);
    const auto views = [](Field<double>& field) {
        std::vector<View<double>> result;
        for (std::size_t b = 0; b < field.blocks(); ++b)
            result.push_back(field.view(b));
        return result;
    };
    for (std::size_t b = 0; b < start.blocks(); ++b)
        for_indices(start.owned(b), [&](const Index<3>& at) {
            for (int c = 0; c < 3; ++c)
                start.view(b)(at, c) =
                    value(static_cast<std::size_t>(one.block(one.blocks_of(world_rank())[b]).zone),
                          at, c);
        });
    Traffic traffic;
    const auto move = [&](Field<double>& from, const Decomposition& a, Field<double>& to,
                          const Decomposition& b) {
        const auto out = views(from);
        const std::vector<View<const double>> sources(out.begin(), out.end());
        Redistribution<double>(MPI_COMM_WORLD, {parts_of(a), parts_of(b)}, 3, traffic)
            .run(sources, views(to));
    };
    move(start, one, there, other);
    move(there, other, back, one);
    for (std::size_t b = 0; b < there.blocks(); ++b)
        for_indices(there.owned(b), [&](const Index<3>& at) {
            const int zone = other.block(other.blocks_of(world_rank())[b]).zone;
            EXPECT_EQ(there.view(b)(at, 2), value(static_cast<std::size_t>(zone), at, 2));
        });
    for (std::size_t b = 0; b < back.blocks(); ++b)
        for_indices(back.owned(b), [&](const Index<3>& at) {
            EXPECT_EQ(back.view(b)(at, 1), start.view(b)(at, 1));
        });
}

TEST(Redistribution, RefusesArraysThatDoNotContainTheirPart) {
    const Box<3> box{{0, 0, 0}, {4, 4, 4}};
    const RedistributionPlan plan({{0, 0, box}}, {{0, 0, box}});
    Traffic traffic;
    Redistribution<float> redistribution(MPI_COMM_SELF, plan, 1, traffic);
    std::vector<float> values(64);
    const std::vector<View<float>> fits{{values.data(), box, 1}},
        moved{{values.data(), box.shifted({1, 0, 0}), 1}};
    const std::vector<View<const float>> source{fits[0]};
    EXPECT_THROW(redistribution.run(source, moved), std::invalid_argument);
    EXPECT_THROW(redistribution.run({}, fits), std::invalid_argument);
    EXPECT_NO_THROW(redistribution.run(source, fits));
    EXPECT_THROW(
        Redistribution<float>(MPI_COMM_SELF, RedistributionPlan({{1, 0, box}}, {}), 1, traffic),
        std::invalid_argument);
}

} // namespace
} // namespace uzushio::domain
