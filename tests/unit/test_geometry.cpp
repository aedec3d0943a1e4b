// ranks: 1 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "geometry/regions.hpp"
#include "geometry/shapes.hpp"

namespace uzushio::geometry {
namespace {

using domain::Index;
using Bodies = std::vector<std::shared_ptr<const Surface>>;

/// Wall of no thickness at x = 0.5, with a hole for z < `hole`.
class Plate : public Surface {
  public:
    explicit Plate(double hole) : hole_(hole) {}
    void crossings(std::size_t axis, const domain::Vector& point,
                   std::vector<Crossing>& found) const override {
        if (axis == 0 && point[2] >= hole_)
            found.push_back({0.5, {1, 0, 0}});
    }
    [[nodiscard]] Bounds bounds() const override { return {{0.5, 0, hole_}, {0.5, 1, 1}}; }

  private:
    double hole_;
};

/// Unit cube of equal cells.
std::shared_ptr<const domain::Mesh> cube(std::int64_t cells) {
    domain::Zone zone;
    zone.name = "box";
    zone.cells = {cells, cells, cells};
    for (const domain::Face& face : domain::faces(3))
        zone.set_boundary(face, "wall");
    const double h = 1.0 / static_cast<double>(cells);
    zone.coordinates = domain::Coordinates::uniform({0, 0, 0}, {h, h, h});
    return std::make_shared<domain::Mesh>(3, std::vector{zone});
}

Lattice centres(const domain::Box<3>& box, double h) {
    Lattice lattice{box, {}};
    for (std::size_t a = 0; a < 3; ++a)
        for (std::int64_t i = box.lower[a]; i < box.upper[a]; ++i)
            lattice.positions[a].push_back((static_cast<double>(i) + 0.5) * h);
    return lattice;
}

/// Return the volume of each region of the fluid.
std::vector<double> region_volumes(const Bodies& bodies, std::int64_t cells,
                                   const std::vector<domain::Vector>& seeds = {}) {
    int ranks = 0, rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const auto decomposition = domain::Decomposition::cartesian(cube(cells), ranks);
    const double h = 1.0 / static_cast<double>(cells);
    domain::Field<double> numbers(decomposition, rank, {.name = "region", .ghosts = 1});
    std::vector<std::array<CutLinks, 3>> links;
    for (std::size_t b = 0; b < numbers.blocks(); ++b) {
        const Lattice lattice = centres(numbers.view(b).box(), h);
        links.push_back({CutLinks(bodies, lattice, 0), CutLinks(bodies, lattice, 1),
                         CutLinks(bodies, lattice, 2)});
    }
    const int regions = find_regions(MPI_COMM_WORLD, decomposition, links, bodies, seeds, numbers);
    std::vector<double> volumes(static_cast<std::size_t>(regions));
    for (std::size_t b = 0; b < numbers.blocks(); ++b)
        for_indices(numbers.owned(b), [&](const Index<3>& at) {
            if (numbers.view(b)(at) >= 0)
                volumes.at(static_cast<std::size_t>(numbers.view(b)(at))) += h * h * h;
        });
    MPI_Allreduce(MPI_IN_PLACE, volumes.data(), regions, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return volumes;
}

/// Return the volume of the fluid.
double fluid_volume(const Bodies& bodies, std::int64_t cells,
                    const std::vector<domain::Vector>& seeds = {}) {
    const std::vector<double> volumes = region_volumes(bodies, cells, seeds);
    return std::accumulate(volumes.begin(), volumes.end(), 0.0);
}

TEST(Surfaces, AreCrossedWhereTheyAre) {
    std::vector<Crossing> found;
    sphere({1, 2, 3}, 5)->crossings(0, {0, 2 + 4, 3}, found);
    ASSERT_EQ(found.size(), 2);
    EXPECT_DOUBLE_EQ(found[0].position, -2);
    EXPECT_DOUBLE_EQ(found[1].position, 4);
    EXPECT_NEAR(found[1].normal[0], 0.6, 1e-15);
    EXPECT_NEAR(found[1].normal[1], 0.8, 1e-15);
    found.clear();
    sphere({0, 0, 0}, 1)->crossings(2, {1, 0, 0}, found); // touched, not crossed
    EXPECT_TRUE(found.empty());
    cylinder({0, 0, 0}, 2, 1, 3)->crossings(1, {1, 9, 1}, found);
    ASSERT_EQ(found.size(), 2);
    EXPECT_DOUBLE_EQ(found[1].position, 1.5);
    found.clear();
    placed(cylinder({0, 0, 0}, 2, 1, 3), {0, 10, 0}, {0x1p-40, 0x1p-40, 0x1p-40})
        ->crossings(0, {7, 9, 0}, found);
    ASSERT_EQ(found.size(), 2);
    EXPECT_DOUBLE_EQ(found[0].position, -2);
    EXPECT_THROW(static_cast<void>(sphere({0, 0, 0}, 0)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(box({0, 0, 0}, {1, 1, 0})), std::invalid_argument);
}

TEST(CutLinks, HaveTheNearestCrossingsOnBothSides) {
    const Lattice lattice{{{0, 0, 0}, {4, 1, 1}}, {{{0, 1, 2, 3}, {0}, {0}}}};
    const CutLinks links({box({1, -1, -1}, {1.25, 1, 1}), box({1.5, -1, -1}, {2, 1, 1})}, lattice,
                         0);
    const CutLink* link = links.find({1, 0, 0});
    ASSERT_NE(link, nullptr); // a crossing at a point belongs to the link above it
    EXPECT_EQ(link->lower.position, 1);
    EXPECT_EQ(link->lower_body, 0);
    EXPECT_EQ(link->upper.position, 1.5);
    EXPECT_EQ(link->upper_body, 1);
    EXPECT_EQ(links.find({0, 0, 0}), nullptr);
    EXPECT_NE(links.find({2, 0, 0}), nullptr);
    EXPECT_EQ(links.all().size(), 2);
}

TEST(Regions, HaveTheVolumeOutsideAndInsideASphere) {
    const Bodies bodies{sphere({0.48, 0.51, 0.53}, 0.3)};
    const double inside = 4 * std::numbers::pi / 3 * std::pow(0.3, 3);
    EXPECT_NEAR(fluid_volume(bodies, 32), 1 - inside, 0.002);
    EXPECT_NEAR(fluid_volume(bodies, 32, {{0.5, 0.5, 0.5}}), inside, 0.002);
}

TEST(Regions, PassAnOpenSurfaceOnlyThroughItsHole) {
    const std::vector<domain::Vector> seed{{0.1, 0.1, 0.9}};
    EXPECT_DOUBLE_EQ(fluid_volume({std::make_shared<Plate>(-1)}, 16, seed), 0.5);
    EXPECT_DOUBLE_EQ(fluid_volume({std::make_shared<Plate>(0.1)}, 16, seed), 1);
}

TEST(Regions, AreNumberedInTheOrderOfTheirFirstCells) {
    const Bodies plate{std::make_shared<Plate>(-1)};
    const std::vector<domain::Vector> behind{{0.9, 0.1, 0.1}}, both{behind[0], {0.1, 0.9, 0.9}};
    EXPECT_EQ(region_volumes(plate, 16, behind), std::vector{0.5});
    EXPECT_EQ(region_volumes(plate, 16, both), (std::vector{0.5, 0.5}));
    const Bodies block{box({0.75, -1, -1}, {2, 2, 2})};
    const std::vector<domain::Vector> inside{{0.9, 0.9, 0.9}, {0.1, 0.1, 0.1}};
    EXPECT_EQ(region_volumes(block, 16, inside), (std::vector{0.75, 0.25}));
}

TEST(Regions, NeedFluid) {
    EXPECT_THROW(fluid_volume({sphere({0.5, 0.5, 0.5}, 2)}, 8), std::invalid_argument);
    EXPECT_THROW(fluid_volume({}, 8, {{0.5, 0.5, 3}}), std::invalid_argument);
}

} // namespace
} // namespace uzushio::geometry
