#include <gtest/gtest.h>

#include <functional>

#include "domain/grid.hpp"
#include "domain/mesh_error.hpp"
#include "support/oriented_zones.hpp"

namespace uzushio::domain {
namespace {

/// Return two adjacent boxes of 4 x 5 x 6 cells along i; j and k of the right one are exchanged.
std::vector<Zone> two_zones() {
    std::vector<Zone> zones = OrientedZones({8, 5, 6}, {false, false, true},
                                            {{{{0, 0, 0}, {4, 5, 6}}, {}},
                                             {{{4, 0, 0}, {8, 5, 6}}, Transform({1, 3, 2})}})
                                  .zones();
    zones[0].name = "left";
    zones[1].name = "right";
    for (Zone& zone : zones)
        for (Connection& c : zone.connections)
            c.donor = c.donor == "zone 0" ? "left" : "right";
    return zones;
}

/// Return the connection from "left" to "right".
Connection& joint(std::vector<Zone>& zones) {
    for (Connection& c : zones[0].connections)
        if (c.donor == "right")
            return c;
    throw std::logic_error("there is a connection");
}

std::string error_of(int dimension, std::vector<Zone> zones) {
    try {
        const Mesh mesh(dimension, std::move(zones));
    } catch (const MeshError& error) {
        return error.what();
    }
    return "no error";
}

std::string error_after(const std::function<void(std::vector<Zone>&)>& change) {
    auto zones = two_zones();
    change(zones);
    return error_of(3, std::move(zones));
}

TEST(Mesh, AcceptsConnectionsOfAnyOrientation) {
    EXPECT_EQ(error_after([](auto&) {}), "no error");
    for (unsigned seed = 0; seed < 20; ++seed)
        EXPECT_EQ(
            error_of(3, OrientedZones::random({6, 7, 5}, {true, false, true}, 7, seed).zones()),
            "no error");
}

TEST(Mesh, NamesZoneFaceAndRangeThatNoPatchCovers) {
    EXPECT_EQ(error_after([](auto& zones) {
                  joint(zones).patch.range = {{0, 2}, {5, 6}};
                  joint(zones).donor_patch.range = {{2, 0}, {6, 5}};
              }),
              "zone 'left', face i-max, range j 0:5, k 0:2: no boundary condition or connection "
              "covers it");
    EXPECT_EQ(error_after([](auto& zones) {
                  std::erase_if(zones[1].boundaries,
                                [](const auto& b) { return b.patch.face == Face{2, Side::upper}; });
              }),
              "zone 'right', face k-max, range i 0:4, j 0:6: no boundary condition or connection "
              "covers it");
}

TEST(Mesh, NamesZoneFaceAndRangeThatTwoPatchesCover) {
    EXPECT_EQ(error_after([](auto& zones) {
                  zones[0].boundaries.push_back({{{0, Side::upper}, {{1, 1}, {3, 2}}}, "jet"});
              }),
              "zone 'left', face i-max, range j 1:3, k 1:2: two boundary conditions or connections "
              "cover it");
}

TEST(Mesh, RefusesPatchesOutsideOfTheirFace) {
    EXPECT_EQ(
        error_after([](auto& zones) {
            zones[0].boundaries.push_back({{{1, Side::upper}, {{0, 0}, {4, 7}}}, "jet"});
        }),
        "zone 'left', face j-max, range i 0:4, k 0:7: the range must have cells and lie within "
        "the face, face j-max, range i 0:4, k 0:6");
}

TEST(Mesh, RefusesConnectionsThatDisagree) {
    const std::string here = "zone 'left', face i-max, range j 0:5, k 0:6: ";
    const std::string there = "zone 'right', face i-min, range j 0:6, k 0:5";
    EXPECT_EQ(error_after([](auto& zones) { joint(zones).donor = "middle"; }),
              here + "connected to zone 'middle', which does not exist");
    EXPECT_EQ(error_after([](auto& zones) { joint(zones).transform = Transform({-1, 3, 2}); }),
              here + "the transform (-1, 3, 2) does not lead into " + there);
    EXPECT_EQ(error_after([](auto& zones) { joint(zones).transform = Transform({1, 2, 3}); }),
              here + "the transform (1, 2, 3) joins 5 cells along j to 6 of " + there);
    EXPECT_EQ(error_after([](auto& zones) { joint(zones).transform = Transform({1, 3, -2}); }),
              here + "the transform (1, 3, -2) is not the inverse of (1, 3, 2) from " + there);
    EXPECT_EQ(error_after([](auto& zones) { joint(zones).translation = {0, 1, 0}; }),
              here +
                  "the translation (0.000000, 1.000000, 0.000000) is not the opposite of "
                  "(0.000000, 0.000000, 0.000000) from " +
                  there);
    EXPECT_EQ(error_after([](auto& zones) {
                  zones[1].boundaries.push_back({joint(zones).donor_patch, "wall"});
                  std::erase_if(zones[1].connections,
                                [](const auto& c) { return c.donor == "left"; });
              }),
              here + there + " has no connection back to it");
}

TEST(Mesh, RefusesConnectedVerticesThatDoNotCoincide) {
    const auto error = error_after(
        [](auto& zones) { zones[1].coordinates = Coordinates::uniform({8.5, 0, 0}, {2, 5, 3}); });
    EXPECT_NE(
        error.find("zone 'left', face i-max, range j 0:5, k 0:6: its vertex [4:5, 0:1, 0:1] at "
                   "(8.000000, 0.000000, 0.000000) does not meet that of zone 'right'"),
        std::string::npos)
        << error;
}

TEST(Mesh, RefusesInvalidZones) {
    EXPECT_EQ(error_after([](auto& zones) { zones[1].name = "left"; }),
              "two zones have the name 'left'");
    EXPECT_EQ(error_after([](auto& zones) { zones[1].cells[1] = 0; }),
              "zone 'right' has 4 x 0 x 5 cells; along j there must be at least one");
    EXPECT_EQ(error_of(2, two_zones()),
              "zone 'left' has 4 x 5 x 6 cells; along k there must be one, "
              "beyond the mesh's dimensions");
    EXPECT_EQ(error_of(4, two_zones()), "a mesh has 1, 2 or 3 dimensions, not 4");
    EXPECT_EQ(error_after([](auto& zones) {
                  zones[0].coordinates = Coordinates::rectilinear({{{0, 1}, {0, 1}, {0, 1}}});
              }),
              "zone 'left' has 4 x 5 x 6 cells, and coordinates of another number of vertices");
    EXPECT_THROW(static_cast<void>(Coordinates::rectilinear({{{0, 1}, {0, 0}, {0, 1}}})),
                 std::invalid_argument);
}

TEST(Mesh, IsPeriodicInTwoDimensionsWithoutFacesAlongTheThird) {
    Zone zone;
    zone.name = "plane";
    zone.cells = {4, 3, 1};
    zone.coordinates = Coordinates::uniform({0, 0, 0}, {0.1, 0.2, 1});
    connect_periodic(zone, 0, {0.4, 0, 0});
    zone.set_boundary({1, Side::lower}, "wall");
    zone.set_boundary({1, Side::upper}, "wall");
    EXPECT_EQ(error_of(2, {zone}), "no error");
    zone.connections[0].transform = Transform({1, 2, -3});
    EXPECT_NE(error_of(2, {zone}).find("moves an axis beyond"), std::string::npos);
}

TEST(Coordinates, AreTheSameFromArraysAxesAndFunctions) {
    const Index<3> cells{3, 2, 4};
    std::array<std::vector<double>, 3> axes, arrays;
    for (std::size_t a = 0; a < 3; ++a)
        for (int i = 0; i <= cells[a]; ++i)
            axes[a].push_back(1.0 + 0.5 * i);
    for (std::size_t k = 0; k <= 4; ++k)
        for (std::size_t j = 0; j <= 2; ++j)
            for (std::size_t i = 0; i <= 3; ++i) {
                arrays[0].push_back(axes[0][i]);
                arrays[1].push_back(axes[1][j]);
                arrays[2].push_back(axes[2][k]);
            }
    const auto uniform = Coordinates::uniform({1, 1, 1}, {0.5, 0.5, 0.5});
    const auto rectilinear = Coordinates::rectilinear(axes);
    const auto curvilinear = Coordinates::curvilinear(cells, arrays);
    EXPECT_EQ(uniform.vertex({3, 1, 2}), rectilinear.vertex({3, 1, 2}));
    EXPECT_EQ(uniform.vertex({3, 1, 2}), curvilinear.vertex({3, 1, 2}));
    EXPECT_EQ(uniform.centre({2, 1, 3}), (Vector{2.25, 1.75, 2.75}));
    EXPECT_EQ(curvilinear.centre({2, 1, 3}), uniform.centre({2, 1, 3}));
    EXPECT_FALSE(rectilinear.fits({3, 2, 5}));
    EXPECT_THROW(static_cast<void>(Coordinates::curvilinear({3, 3, 4}, arrays)),
                 std::invalid_argument);
}

/// Return a grid of 3 x 2 cells, with walls at the ends of i; j is periodic.
Grid grid_with_walls() {
    const auto walls = [](const Face& face) {
        return face.axis == 0 ? std::optional<std::string>("wall") : std::nullopt;
    };
    return {*box_mesh(2, {{{0, 1, 3, 6}, {0, 0.5, 1.5}, {0, 7}}}, walls), 2};
}

TEST(Grid, HasMirrorImagesBeyondBoundariesAndRepeatsPeriodicAxes) {
    const Grid grid = grid_with_walls();
    const auto widths = [&](std::size_t axis) {
        const double* first = grid[axis].width();
        return std::vector<double>(first - 2, first + grid[axis].cells() + 2);
    };
    EXPECT_EQ(widths(0), (std::vector<double>{2, 1, 1, 2, 3, 3, 2}));
    EXPECT_EQ(widths(1), (std::vector<double>{0.5, 1, 0.5, 1, 0.5, 1}));
    EXPECT_EQ(widths(2), std::vector<double>(5, 1)) << "an axis that the mesh does not use";
    EXPECT_EQ(grid[0].inverse_distance()[0], 1);
    EXPECT_EQ(grid[0].inverse_distance()[2], 1 / 2.5);
    EXPECT_EQ(grid[0].share_below()[2], 0.4);
    EXPECT_EQ(grid[0].share_above()[2], 0.6);
}

TEST(Grid, KnowsAreasAndPlacesAtItsBoundaries) {
    const Grid grid = grid_with_walls();
    const Face lower{0, Side::lower}, upper{0, Side::upper};
    const Box<3> cells{{0, 0, 0}, {3, 2, 1}}, sides{{0, 0, 0}, {4, 2, 1}};
    EXPECT_EQ(grid.area(upper), 1.5);
    EXPECT_EQ(grid.side_area(1, {2, 0, 0}), 3);
    EXPECT_EQ(grid.width_at(lower), 1);
    EXPECT_EQ(grid.width_at(upper), 3);
    EXPECT_EQ(grid.cells_at(upper, cells), (Box<3>{{2, 0, 0}, {3, 2, 1}}));
    EXPECT_EQ(grid.sides_at(upper, cells), (Box<3>{{3, 0, 0}, {4, 2, 1}}));
    EXPECT_TRUE(grid.cells_at(lower, {{1, 0, 0}, {3, 2, 1}}).empty());
    EXPECT_EQ(grid.inner_sides(0, sides), (Box<3>{{1, 0, 0}, {3, 2, 1}}));
    EXPECT_EQ(grid.inside(cells.grown({2, 2, 0})), (Box<3>{{0, -2, 0}, {3, 4, 1}}));
    EXPECT_THROW(Grid(Mesh(3, two_zones()), 1), MeshError);
}

} // namespace
} // namespace uzushio::domain
