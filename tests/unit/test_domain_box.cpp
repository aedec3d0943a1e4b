#include <gtest/gtest.h>

#include <random>
#include <type_traits>

#include "domain/box_index.hpp"
#include "domain/box_set.hpp"
#include "domain/first_owners.hpp"
#include "domain/index_map.hpp"

namespace uzushio::domain {
namespace {

template <std::size_t N> Box<N> random_box(std::mt19937& random) {
    Box<N> box;
    for (std::size_t a = 0; a < N; ++a) {
        box.lower[a] = static_cast<int>(random() % 9) - 4;
        box.upper[a] = box.lower[a] + static_cast<int>(random() % 6);
    }
    return box;
}

/// Check all indices that a random box may contain.
template <class Check> void for_all_indices(Check&& check) {
    for (int k = -5; k < 11; ++k)
        for (int j = -5; j < 11; ++j)
            for (int i = -5; i < 11; ++i)
                check(Index<3>{i, j, k});
}

template <class A, class B>
concept comparable_boxes = requires(const A& a, const B& b) { intersect(a, b); };
template <class B>
concept visited_i_first = requires(const B& box) {
    for_indices(box, [](const Index<3>&) {});
    for_rows(box, [](const Index<3>&, std::int64_t) {});
};

TEST(AxisOrder, BoxesOfDifferentOrdersAreDifferentTypes) {
    using Reversed = Box<3, AxisOrder::zyx>;
    static_assert(visited_i_first<Box<3>> && !visited_i_first<Reversed>);
    static_assert(comparable_boxes<Reversed, Reversed> && !comparable_boxes<Box<3>, Reversed>);
    static_assert(!std::is_constructible_v<Box<3>, Reversed>);
    const Box<3> box{{1, 2, 3}, {4, 6, 8}};
    const Reversed reversed{{3, 2, 1}, {8, 6, 4}};
    EXPECT_EQ(with_reversed_axes(box), reversed);
    EXPECT_EQ(with_reversed_axes(reversed), box);
}

TEST(Box, IntersectionContainsTheIndicesOfBoth) {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        const auto a = random_box<3>(random), b = random_box<3>(random);
        const auto both = intersect(a, b);
        std::int64_t count = 0;
        for_all_indices([&](const Index<3>& index) {
            EXPECT_EQ(both.contains(index), a.contains(index) && b.contains(index));
            count += both.contains(index) ? 1 : 0;
        });
        EXPECT_EQ(both.volume(), count);
        EXPECT_EQ(overlap(a, b), !both.empty());
        EXPECT_TRUE(a.contains(both) && b.contains(both));
        EXPECT_TRUE(bounding(a, b).contains(a) && bounding(a, b).contains(b));
    }
}

TEST(Box, GrowthAndShiftAreUndoneByTheirOpposites) {
    std::mt19937 random(2);
    for (int round = 0; round < 50; ++round) {
        const auto box = random_box<2>(random);
        EXPECT_EQ(box.grown(3).grown(-3), box);
        EXPECT_EQ(box.grown(1).extent(0), box.extent(0) + 2);
        EXPECT_EQ(box.shifted({2, -5}).shifted({-2, 5}), box);
        EXPECT_EQ(box.shifted({2, -5}).extents(), box.extents());
    }
}

TEST(Box, PartsOfASplitAreDisjointAndCoverTheBox) {
    std::mt19937 random(3);
    for (int round = 0; round < 50; ++round) {
        const auto box = random_box<3>(random);
        for (std::size_t axis = 0; axis < 3; ++axis)
            for (int at = -6; at < 12; ++at) {
                const auto [below, above] = box.split(axis, at);
                EXPECT_FALSE(overlap(below, above));
                EXPECT_EQ(below.volume() + above.volume(), box.volume());
                EXPECT_EQ(bounding(below, above).volume(), box.volume());
            }
    }
}

TEST(BoxSet, SubtractionCoversTheIndicesOutsideTheHolesOnce) {
    std::mt19937 random(4);
    for (int round = 0; round < 30; ++round) {
        const auto box = random_box<3>(random).grown(1);
        const std::array holes{random_box<3>(random), random_box<3>(random), random_box<3>(random)};
        BoxSet<3> set{box};
        for (const auto& hole : holes)
            subtract(set, hole);
        for_all_indices([&](const Index<3>& index) {
            bool wanted = box.contains(index);
            for (const auto& hole : holes)
                wanted = wanted && !hole.contains(index);
            int found = 0;
            for (const auto& part : set)
                found += part.contains(index) ? 1 : 0;
            EXPECT_EQ(found, wanted ? 1 : 0);
        });
    }
}

TEST(BoxIndex, FindsTheBoxesThatOverlapAndNoOthers) {
    std::mt19937 random(5);
    std::vector<Box<3>> boxes;
    for (int i = 0; i < 200; ++i) {
        boxes.push_back(random_box<3>(random));
        boxes.back() = boxes.back().shifted(
            {static_cast<int>(random() % 30), 0, static_cast<int>(random() % 30)});
    }
    const BoxIndex<3> index(boxes);
    for (int round = 0; round < 50; ++round) {
        const auto box = random_box<3>(random).shifted({static_cast<int>(random() % 30), 0, 7});
        std::vector<std::uint32_t> expected;
        for (std::uint32_t i = 0; i < boxes.size(); ++i)
            if (overlap(boxes[i], box))
                expected.push_back(i);
        EXPECT_EQ(index.find(box), expected);
    }
    EXPECT_TRUE(BoxIndex<3>().find(boxes[0]).empty());
}

TEST(FirstOwners, EachIndexIsFromTheFirstBoxThatContainsItOrIsMissing) {
    std::mt19937 random(7);
    for (int round = 0; round < 100; ++round) {
        std::vector<Box<3>> boxes;
        for (int b = 0; b < 12; ++b)
            boxes.push_back(random_box<3>(random));
        const FirstOwners<3> owners(boxes);
        const Box<3> region = random_box<3>(random);
        std::vector<FirstOwners<3>::Part> parts;
        BoxSet<3> missing;
        owners.find(region, parts, &missing);
        for_indices(region, [&](const Index<3>& index) {
            std::size_t first = 0;
            while (first < boxes.size() && !boxes[first].contains(index))
                ++first;
            std::vector<std::size_t> found;
            for (const auto& part : parts)
                if (part.box.contains(index))
                    found.push_back(part.owner);
            for (const Box<3>& box : missing)
                if (box.contains(index))
                    found.push_back(boxes.size());
            ASSERT_EQ(found, std::vector{first});
        });
    }
}

TEST(BoxSet, CoalescingMergesTheOctantsOfABox) {
    BoxSet<3> set{Box<3>::of({4, 6, 8})};
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (std::size_t b = set.size(); b-- > 0;) {
            const auto [below, above] = set[b].split(axis, 3);
            set[b] = below;
            set.push_back(above);
        }
    EXPECT_EQ(set.size(), 8u);
    coalesce(set);
    EXPECT_EQ(set, BoxSet<3>{Box<3>::of({4, 6, 8})});
}

TEST(Transform, Has48OfWhich24AreRotationsAndEachAnInverse) {
    const auto all = Transform::all();
    EXPECT_EQ(all.size(), 48U);
    int rotations = 0;
    for (const Transform& t : all) {
        rotations += t.is_rotation() ? 1 : 0;
        EXPECT_EQ(t.inverse().inverse(), t);
        for (std::size_t a = 0; a < 3; ++a) {
            EXPECT_EQ(t.inverse().axis(t.axis(a)), a);
            EXPECT_EQ(t.inverse().sign(t.axis(a)), t.sign(a));
        }
    }
    EXPECT_EQ(rotations, 24);
    EXPECT_TRUE(Transform({2, 3, 1}).is_rotation());
    EXPECT_FALSE(Transform({2, 1, 3}).is_rotation());
    EXPECT_THROW(Transform({1, 2, -2}), std::invalid_argument);
    EXPECT_THROW(Transform({0, 2, 3}), std::invalid_argument);
}

TEST(IndexMap, FollowedByItsInverseIsTheIdentityForEachCentring) {
    const Index<3> cells{4, 5, 6};
    const Box<3> ghosts{{4, 1, 2}, {6, 3, 6}};
    for (const Transform& t : Transform::all()) {
        Index<3> donor_cells{};
        for (std::size_t a = 0; a < 3; ++a)
            donor_cells[t.axis(a)] = cells[a];
        const Face face{0, Side::upper};
        const Face donor_face{t.axis(0), t.sign(0) > 0 ? Side::lower : Side::upper};
        const auto patch = Patch::whole(face, cells), donor = Patch::whole(donor_face, donor_cells);
        const auto there = IndexMap::across(patch, cells, donor, donor_cells, t);
        const auto back = IndexMap::across(donor, donor_cells, patch, cells, t.inverse());
        for (const Stagger& stagger :
             {Stagger{0, 0, 0}, Stagger{1, 1, 1}, Stagger{1, 0, 0}, Stagger{0, 1, 0}}) {
            const Stagger moved = there.apply_to_stagger(stagger);
            const auto image = there.apply(ghosts, stagger);
            EXPECT_EQ(image.volume(), ghosts.volume());
            EXPECT_EQ(back.apply(image, moved), ghosts);
            EXPECT_EQ(there.apply_inverse(image, stagger), ghosts);
            EXPECT_EQ(there.then(back).apply(ghosts, stagger), ghosts);
            // The first two layers beyond the face are the donor's first two, except shared
            // vertices.
            if (!stagger[0]) {
                EXPECT_TRUE(
                    Box<3>::of(donor_cells).contains(there.apply({{4, 0, 0}, {6, 5, 6}}, {})));
            }
        }
    }
}

} // namespace
} // namespace uzushio::domain
