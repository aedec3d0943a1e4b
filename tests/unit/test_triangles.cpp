#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "geometry/cut_links.hpp"
#include "geometry/shapes.hpp"
#include "support/triangulated.hpp"

namespace uzushio::geometry {
namespace {

using domain::Index;
using domain::Vector;
using Shape = std::shared_ptr<const Surface>;

/// Quanta of `placed` to which all positions here are rounded already.
constexpr Vector no_rounding{0x1p-200, 0x1p-200, 0x1p-200};

Shape surface(std::vector<Triangle> triangles) {
    return std::make_shared<Triangles>(std::move(triangles));
}

/// Lattice with the same equidistant positions along each axis.
Lattice cubic(double first, double last, std::int64_t count) {
    Lattice lattice{{{0, 0, 0}, {count, count, count}}, {}};
    for (std::vector<double>& positions : lattice.positions)
        for (std::int64_t i = 0; i < count; ++i)
            positions.push_back(first + (last - first) * static_cast<double>(i) /
                                            static_cast<double>(count - 1));
    return lattice;
}

/// Lattice whose lines pass through random corners and middles of sides, and between them.
Lattice through_corners(const std::vector<Triangle>& triangles, std::mt19937& random) {
    Lattice lattice;
    for (std::size_t a = 0; a < 3; ++a) {
        std::vector<double>& positions = lattice.positions[a];
        for (int n = 0; n < 12; ++n) {
            const Triangle& one = triangles[random() % triangles.size()];
            positions.push_back(one[0][a]);
            positions.push_back(0.5 * (one[1][a] + one[2][a]));
            positions.push_back(std::nextafter(one[2][a], n % 2 == 0 ? -9 : 9));
        }
        positions.push_back(-9);
        positions.push_back(9);
        std::sort(positions.begin(), positions.end());
        positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
        lattice.box.upper[a] = static_cast<std::int64_t>(positions.size());
    }
    return lattice;
}

/// Call `visit` with the position of each point, and whether a path of uncut links joins it to the
/// first point.
template <class Visit> void flood(const Shape& body, const Lattice& lattice, const Visit& visit) {
    std::array<CutLinks, 3> links;
    for (std::size_t a = 0; a < 3; ++a)
        links[a] = CutLinks({body}, lattice, a);
    const domain::Box<3>& box = lattice.box;
    const auto number = [&](const Index<3>& at) {
        return static_cast<std::size_t>((at[2] * box.upper[1] + at[1]) * box.upper[0] + at[0]);
    };
    std::vector<char> reached(static_cast<std::size_t>(box.volume()), 0);
    std::vector<Index<3>> open{{0, 0, 0}};
    reached[0] = 1;
    while (!open.empty()) {
        const Index<3> from = open.back();
        open.pop_back();
        for (std::size_t a = 0; a < 3; ++a)
            for (const int step : {-1, 1}) {
                Index<3> to = from;
                to[a] += step;
                if (!box.contains(to) || reached[number(to)] != 0 ||
                    links[a].find(step > 0 ? from : to) != nullptr)
                    continue;
                reached[number(to)] = 1;
                open.push_back(to);
            }
    }
    for_indices(box, [&](const Index<3>& at) {
        const Vector point{lattice.position(0, at[0]), lattice.position(1, at[1]),
                           lattice.position(2, at[2])};
        visit(point, reached[number(at)] != 0);
    });
}

/// Return the maximum distances of positions and of normals, which may have either sense.
std::pair<double, double> compare(const CutLinks& found, const CutLinks& exact) {
    EXPECT_EQ(found.all().size(), exact.all().size());
    double distance = 0, angle = 0;
    for (std::size_t n = 0; n < std::min(found.all().size(), exact.all().size()); ++n) {
        const CutLink &one = found.all()[n], &other = exact.all()[n];
        EXPECT_EQ(one.at, other.at);
        for (const auto& [a, b] : {std::pair{one.lower, other.lower}, {one.upper, other.upper}}) {
            distance = std::max(distance, std::abs(a.position - b.position));
            double product = 0;
            for (std::size_t d = 0; d < 3; ++d)
                product += a.normal[d] * b.normal[d];
            angle = std::max(angle, std::acos(std::min(1.0, std::abs(product))));
        }
    }
    return {distance, angle};
}

TEST(Triangles, OfABoxHaveTheLinksOfTheBox) {
    const Vector lower{-0.5, 0.25, 0}, upper{0.75, 0.875, 1}; // sides at points of the lattice
    const Shape triangles = surface(box_triangles(lower, upper));
    EXPECT_TRUE(triangles->is_closed());
    EXPECT_EQ(triangles->bounds().lower, lower);
    EXPECT_EQ(triangles->bounds().upper, upper);
    for (const double shift : {0.0, 0.01})
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const Lattice lattice = cubic(-1 + shift, 2 + shift, 25);
            const CutLinks found({triangles}, lattice, axis);
            EXPECT_GT(found.all().size(), 50);
            EXPECT_EQ(compare(found, CutLinks({box(lower, upper)}, lattice, axis)),
                      std::pair(0.0, 0.0));
        }
}

TEST(Triangles, OfASphereHaveItsLinksUpToTheirSize) {
    const Vector centre{0.1, 0.2, -0.1};
    const Shape fine = surface(octahedron(centre, 0.7, 6, true)); // 32768 triangles
    EXPECT_TRUE(fine->is_closed());
    const Lattice lattice = cubic(-0.913, 1.071, 20);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto [distance, angle] = compare(CutLinks({fine}, lattice, axis),
                                               CutLinks({sphere(centre, 0.7)}, lattice, axis));
        EXPECT_LT(distance, 2e-3); // sagitta 1e-4, over the slope
        EXPECT_LT(angle, 0.03);
    }
}

TEST(Triangles, AreMetOnceBySharedSidesAndCorners) {
    const std::vector<Triangle> all = octahedron({0, 0, 0}, 1, 4, true);
    const Triangles sphere(all);
    std::vector<Crossing> found;
    for (const Triangle& triangle : all)
        for (std::size_t axis = 0; axis < 3; ++axis)
            for (const double weight : {0.0, 0.25, 0.5}) { // corners and points of sides
                Vector point{};
                for (std::size_t a = 0; a < 3; ++a)
                    point[a] = (1 - weight) * triangle[0][a] + weight * triangle[1][a];
                found.clear();
                sphere.crossings(axis, point, found);
                const std::size_t b = (axis + 1) % 3, c = (axis + 2) % 3;
                if (std::hypot(point[b], point[c]) < 0.98) { // else the line may pass beside it
                    EXPECT_EQ(found.size(), 2);
                }
                EXPECT_EQ(found.size() % 2, 0);
            }
}

TEST(CutLinks, SeparateInsideAndOutsideOnLatticesThroughCorners) {
    std::mt19937 random(7);
    const std::vector<Triangle> ball = octahedron({0, 0, 0}, 1, 3, true);
    std::vector<Triangle> turned = octahedron({0, 0, 0}, 1, 1, false);
    for (Triangle& triangle : turned)
        for (Vector& p : triangle)
            p = {0.6 * p[0] - 0.8 * p[1], 0.8 * p[0] + 0.6 * p[1], p[2]};
    for (const auto& [triangles, inner, outer] :
         {std::tuple(ball, 0.98, 1.01), {turned, 0.57, 1.01}})
        for (int n = 0; n < 20; ++n)
            for (const Vector& shift : {Vector{}, Vector{0.1, 1.0 / 3, -0.7}}) {
                Lattice lattice = through_corners(triangles, random);
                for (std::size_t a = 0; a < 3; ++a)
                    for (double& position : lattice.positions[a])
                        position += shift[a];
                flood(placed(surface(triangles), shift, no_rounding), lattice,
                      [&](const Vector& point, bool reached) {
                          const double r = std::hypot(point[0] - shift[0], point[1] - shift[1],
                                                      point[2] - shift[2]);
                          if (r < inner || r > outer) {
                              ASSERT_EQ(reached, r > outer);
                          }
                      });
            }
}

TEST(CutLinks, SeparateInsideAndOutsideWhereTheSurfaceIsAtPoints) {
    const Lattice whole = cubic(-8, 8, 17);
    flood(surface(octahedron({0, 0, 0}, 5, 2, false)), whole, [](const Vector& p, bool reached) {
        const double sum = std::abs(p[0]) + std::abs(p[1]) + std::abs(p[2]); // exact
        if (sum != 5) {
            ASSERT_EQ(reached, sum > 5);
        }
    });
    for (const Shape& body :
         {sphere({0, 0, 0}, 5), placed(sphere({1, 0, 0}, 5), {-1, 0, 0}, no_rounding),
          cylinder({0, 0, 0}, 5, 0, 10), cylinder({0, 0, 0}, 5, 2, 10)})
        flood(body, whole, [](const Vector& p, bool reached) {
            if (std::hypot(p[0], p[1], p[2]) < 4.9) {
                ASSERT_FALSE(reached);
            }
            if (std::hypot(p[0], p[1], p[2]) > 7.2) {
                ASSERT_TRUE(reached);
            }
        });
    flood(box({-3, -3, -3}, {4, 4, 4}), whole, [](const Vector& p, bool reached) {
        const auto [least, most] = std::minmax({p[0], p[1], p[2]});
        ASSERT_EQ(reached, least <= -3 || most > 4);
    });
}

/// Return whether lines along each axis find a point inside.
std::array<bool, 3> is_inside(const Triangles& surface, const Vector& point) {
    std::array<bool, 3> inside{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        std::vector<Crossing> found;
        surface.crossings(axis, point, found);
        Winding winding;
        for (const Crossing& crossing : found)
            if (crossing.position < point[axis])
                winding.pass(crossing);
        inside[axis] = winding.is_inside();
    }
    return inside;
}

std::vector<Triangle> joined(std::vector<Triangle> all, const std::vector<Triangle>& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

/// Return a box with triangles that face outwards.
std::vector<Triangle> outwards(std::vector<Triangle> box) {
    const std::vector<signed char> sense = orientation_of(box).sense;
    for (std::size_t t = 0; t < box.size(); ++t)
        if (sense[t] < 0)
            std::swap(box[t][1], box[t][2]);
    return box;
}

std::vector<Triangle> reversed(std::vector<Triangle> all) {
    for (Triangle& triangle : all)
        std::swap(triangle[1], triangle[2]);
    return all;
}

constexpr std::array<bool, 3> yes{true, true, true}, no{false, false, false};

TEST(Triangles, HaveTheInsideOfAllShellsThatOverlapOrAreThereTwice) {
    const std::vector<Triangle> low = box_triangles({0, 0, 0}, {2, 2, 2}); // face both sides
    const std::vector<Triangle> high = outwards(box_triangles({1, 1, 1}, {3, 3, 3}));
    for (const Triangles& surface : {Triangles(joined(low, high)), Triangles(joined(high, low)),
                                     Triangles(joined(reversed(high), joined(low, low)))}) {
        EXPECT_FALSE(surface.undecided());
        for (const double at : {0.5, 1.5, 2.5})
            EXPECT_EQ(is_inside(surface, {at, at + 0.01, at + 0.02}), yes) << at;
        EXPECT_EQ(is_inside(surface, {0.5, 0.6, 2.5}), no);
    }
}

TEST(Triangles, HaveCavitiesWhereAPartFacesTheOtherWay) {
    const std::vector<Triangle> wall = outwards(box_triangles({0, 0, 0}, {4, 4, 4}));
    const std::vector<Triangle> inner = outwards(box_triangles({1, 1, 1}, {3, 3, 3}));
    const std::vector<Triangle> core = outwards(box_triangles({1.5, 1.5, 1.5}, {2.5, 2.5, 2.5}));
    const Vector in_core{2, 2.1, 2.2}, in_cavity{1.2, 2.1, 2.2}, in_wall{0.5, 2.1, 2.2};
    const std::vector<Triangle> hollow = joined(joined(wall, reversed(inner)), core);
    for (const Triangles& surface : {Triangles(hollow), Triangles(reversed(hollow))}) {
        EXPECT_EQ(is_inside(surface, in_core), yes);
        EXPECT_EQ(is_inside(surface, in_cavity), no);
        EXPECT_EQ(is_inside(surface, in_wall), yes);
    }
    EXPECT_EQ(is_inside(Triangles(joined(wall, inner)), in_cavity), yes);
    // Two boxes with a common face, which is there in both senses.
    const Triangles beside(joined(wall, outwards(box_triangles({4, 0, 0}, {6, 4, 4}))));
    EXPECT_FALSE(beside.undecided());
    EXPECT_EQ(is_inside(beside, {5, 2.1, 2.2}), yes);
}

TEST(Triangles, TellWhereTheyDoNotDecideWhatIsInside) {
    const std::vector<Triangle> wall = outwards(box_triangles({0, 0, 0}, {4, 4, 4}));
    const std::vector<Triangle> mixed = box_triangles({1, 1, 1}, {3, 3, 3});
    const Triangles nested(joined(wall, mixed)); // solid or a cavity
    ASSERT_TRUE(nested.undecided());
    EXPECT_EQ(nested.undecided()->at, mixed[0][0]);
    EXPECT_EQ(is_inside(nested, {2, 2.1, 2.2}), no);                  // by parity
    EXPECT_TRUE(Triangles(joined(wall, reversed(wall))).undecided()); // no volume
    std::vector<Triangle> divided = wall; // by a triangle from side to side
    divided.push_back({{{0, 0, 0}, {4, 0, 0}, {4, 4, 4}}});
    ASSERT_TRUE(Triangles(divided).undecided());
    divided = wall;
    divided.pop_back();
    EXPECT_TRUE(Triangles(divided).undecided());
}

TEST(Triangles, KeepThinOnesAndAreOpenWithoutANeighbour) {
    std::vector<Triangle> all = box_triangles({0, 0, 0}, {1, 1, 1});
    const Triangle cut = all.back();
    all.pop_back();
    EXPECT_EQ(Triangles(all).open_sides(), 3);
    EXPECT_FALSE(Triangles(all).is_closed());
    Vector middle{}; // two triangles, and one of no area between them and their neighbour
    for (std::size_t a = 0; a < 3; ++a)
        middle[a] = 0.5 * (cut[0][a] + cut[1][a]);
    all.push_back({cut[0], middle, cut[2]});
    all.push_back({middle, cut[1], cut[2]});
    all.push_back({cut[0], middle, cut[1]});
    all.push_back({cut[0], cut[0], cut[1]});
    const Triangles closed(all);
    EXPECT_EQ(closed.all().size(), 14);
    EXPECT_TRUE(closed.is_closed());
    std::vector<Crossing> found;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        found.clear();
        closed.crossings(axis, {0.5, 0.5, 0.5}, found);
        EXPECT_EQ(found.size(), 2);
        for (const Crossing& crossing : found)
            EXPECT_TRUE(std::isfinite(crossing.position + crossing.normal[axis]));
    }
    EXPECT_THROW(Triangles({}), std::invalid_argument);
}

} // namespace
} // namespace uzushio::geometry
