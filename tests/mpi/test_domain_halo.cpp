// Exchange of ghost layers on meshes whose zones are differently oriented boxes of one grid.
// ranks: 1 2 3 7
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include "domain/halo_exchange.hpp"
#include "support/oriented_zones.hpp"

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

/// Fields of every kind on this rank's blocks, with values computed from the global grid.
class KnownFields {
  public:
    KnownFields(const OrientedZones& zones, const Decomposition& decomposition, int ghosts)
        : zones_(zones), decomposition_(decomposition) {
        for (FieldSpec spec : specs(ghosts))
            fields_.emplace_back(decomposition, world_rank(), spec);
        for (auto& field : fields_)
            pointers_.push_back(&field);
    }
    static std::vector<FieldSpec> specs(int ghosts) {
        return {{"cells", 2, ghosts, Centring::cell, Values::plain},
                {"centres", 3, ghosts, Centring::cell, Values::position},
                {"vertices", 1, ghosts, Centring::vertex, Values::plain},
                {"corners", 3, ghosts, Centring::vertex, Values::position},
                {"faces", 1, 1, Centring::face, Values::plain},
                {"fluxes", 1, ghosts, Centring::face, Values::flux}};
    }
    std::span<Field<double>* const> all() const { return pointers_; }

    /// Set owned values; ghosts get a marker.
    void set(double time = 0) {
        for_all([&](std::size_t, const Index<3>&, bool owned, double& value, double known,
                    int) { value = owned ? known : untouched; },
                time);
    }
    /// Check the ghosts: those beyond at most `reach` faces of their block have the value of the
    /// grid at their position, if that is in the grid; others have the marker. Return the number of
    /// filled ghosts.
    std::int64_t check(int reach, double time = 0) {
        std::int64_t wrong = 0, filled = 0;
        for_all(
            [&](std::size_t f, const Index<3>& index, bool owned, double& value, double known,
                int outside) {
                const double expected = outside <= reach ? known : untouched;
                if (value != expected && wrong++ < 3)
                    ADD_FAILURE() << fields_[f].spec().name << " at "
                                  << to_string(Box<3>{index, index}) << " is " << value << ", not "
                                  << expected;
                filled += !owned && expected != untouched ? 1 : 0;
            },
            time);
        EXPECT_EQ(wrong, 0);
        return filled;
    }

  private:
    template <class Visit> void for_all(Visit&& visit, double time) {
        for (std::size_t f = 0; f < fields_.size(); ++f)
            for (std::size_t b = 0; b < fields_[f].blocks(); ++b)
                for (std::size_t array = 0; array < fields_[f].arrays(); ++array)
                    for_array(f, b, array, visit, time);
    }
    template <class Visit>
    void for_array(std::size_t f, std::size_t b, std::size_t array, Visit&& visit, double time) {
        const auto& spec = fields_[f].spec();
        const int id = decomposition_.blocks_of(world_rank())[b];
        const auto zone = static_cast<std::size_t>(decomposition_.block(id).zone);
        const Stagger stagger = staggers(spec, 3)[array];
        const auto view = fields_[f].view(b, array);
        const Box<3> own = fields_[f].owned(b, array);
        for (std::int64_t k = view.box().lower[2]; k < view.box().upper[2]; ++k)
            for (std::int64_t j = view.box().lower[1]; j < view.box().upper[1]; ++j)
                for (std::int64_t i = view.box().lower[0]; i < view.box().upper[0]; ++i) {
                    const Index<3> index{i, j, k};
                    int outside = 0;
                    for (std::size_t a = 0; a < 3; ++a)
                        outside += index[a] < own.lower[a] || index[a] >= own.upper[a] ? 1 : 0;
                    for (int c = 0; c < spec.components; ++c)
                        visit(f, index, outside == 0, view(index, c),
                              known(spec, zone, array, stagger, index, c, time), outside);
                }
    }
    double known(const FieldSpec& spec, std::size_t zone, std::size_t array, const Stagger& stagger,
                 const Index<3>& index, int c, double time) const {
        const Transform& to_own = zones_.parts()[zone].to_own;
        Stagger global_stagger{};
        for (std::size_t d = 0; d < 3; ++d)
            global_stagger[d] = stagger[to_own.axis(d)];
        Index<3> global = zones_.global_index(zone, index, stagger);
        const Index<3> unwrapped = global;
        if (!zones_.wrap(global, global_stagger))
            return untouched;
        if (spec.values == Values::position) {
            constexpr Vector half{1, 1.5, 2.5};
            const auto d = static_cast<std::size_t>(c);
            return half[d] * static_cast<double>(2 * unwrapped[d] + (stagger[0] ? 0 : 1));
        }
        // Linear in the position in the grid, and dependent on the axis normal to the face.
        double value = 1.0 + time + 1000 * c +
                       static_cast<double>(3 * global[0] + 70 * global[1] + 1100 * global[2]);
        if (spec.centring == Centring::face) {
            const std::size_t d = to_own.inverse().axis(array);
            value += 0.25 * static_cast<double>(d);
            if (spec.values == Values::flux)
                value *= to_own.sign(d);
        }
        return value;
    }

    const OrientedZones& zones_;
    const Decomposition& decomposition_;
    std::vector<Field<double>> fields_;
    std::vector<Field<double>*> pointers_;
};

/// Exchange known fields on a mesh, and check all of them; return the number of filled ghosts.
std::int64_t exchange_and_check(const OrientedZones& zones, const Decomposition& decomposition,
                                Reach reach, int ghosts) {
    Traffic traffic;
    KnownFields fields(zones, decomposition, ghosts);
    HaloExchange<double> halo(MPI_COMM_WORLD, decomposition, KnownFields::specs(ghosts), reach,
                              traffic);
    fields.set();
    halo.exchange(fields.all());
    return fields.check(static_cast<int>(reach));
}

TEST(HaloExchange, FillsGhostsExactlyAcrossEachOfThe48OrientationsAndSixFaces) {
    // All 288 pairs on one rank; on more ranks each orientation once, and each face eight times.
    const std::size_t every = world_size() == 1 ? 1 : 6;
    std::size_t pair = 0;
    for (const Face face : faces(3))
        for (const Transform& transform : Transform::all()) {
            if ((pair++ + 7 * (2 * face.axis + (face.is_upper() ? 1 : 0))) % every != 0)
                continue;
            Index<3> cells{4, 3, 5};
            Box<3> here = Box<3>::of(cells), there = here;
            Index<3> shift{};
            shift[face.axis] = cells[face.axis];
            (face.is_upper() ? there : here) = here.shifted(shift);
            cells[face.axis] *= 2;
            const OrientedZones zones(cells, {}, {{here, {}}, {there, transform}});
            const auto filled = exchange_and_check(
                zones, Decomposition::multiblock(zones.mesh(), world_size()), Reach::corners, 2);
            EXPECT_GT(filled, 0);
            if (testing::Test::HasFailure())
                FAIL() << face.name() << " " << transform.text();
        }
}

TEST(HaloExchange, FillsEdgesAndCornersOfPeriodicMeshesOfRandomPatches) {
    for (unsigned seed = 0; seed < (world_size() == 1 ? 12U : 5U); ++seed) {
        const auto zones = OrientedZones::random({7, 6, 8}, {true, true, true}, 6, seed);
        for (const Reach reach : {Reach::faces, Reach::edges, Reach::corners})
            exchange_and_check(zones, Decomposition::multiblock(zones.mesh(), world_size()), reach,
                               2);
        if (testing::Test::HasFailure())
            FAIL() << "seed " << seed;
    }
}

TEST(HaloExchange, DoesNotChangeGhostsBeyondBoundaryConditions) {
    for (unsigned seed = 20; seed < (world_size() == 1 ? 28U : 24U); ++seed) {
        const auto zones = OrientedZones::random({7, 9, 6}, {false, seed % 2 == 0, false}, 5, seed);
        exchange_and_check(zones, Decomposition::multiblock(zones.mesh(), world_size()),
                           Reach::corners, 3);
        if (testing::Test::HasFailure())
            FAIL() << "seed " << seed;
    }
}

TEST(HaloExchange, FillsGhostLayersThatAreWiderThanTheirDonors) {
    const auto zones = OrientedZones({2, 1, 5}, {true, true, true},
                                     {{{{0, 0, 0}, {1, 1, 5}}, Transform({2, 3, 1})},
                                      {{{1, 0, 0}, {2, 1, 5}}, Transform({-3, 1, 2})}});
    exchange_and_check(zones, Decomposition::multiblock(zones.mesh(), world_size()), Reach::corners,
                       3);
}

TEST(HaloExchange, CopiesLongRowsAndManyLayers) {
    const auto zones = OrientedZones::random({26, 21, 23}, {true, true, true}, 4, 9);
    exchange_and_check(zones, Decomposition::multiblock(zones.mesh(), world_size()), Reach::corners,
                       5);
}

TEST(HaloExchange, SupportsAnyNumberOfBlocksPerRank) {
    const auto zones = OrientedZones::random({8, 8, 8}, {true, true, true}, 3, 5);
    const auto mesh = zones.mesh();
    std::vector<Block> blocks; // slabs of one or two cells, all on the odd ranks
    for (int z = 0; z < 3; ++z)
        for (std::int64_t k = 0; k < mesh->zone(z).cells[2]; k += 2) {
            Box<3> box = Box<3>::of(mesh->zone(z).cells);
            box.lower[2] = k;
            box.upper[2] = std::min(box.upper[2], k + 2);
            const int rank =
                (2 * static_cast<int>(blocks.size()) + 1) % std::max(2, world_size() / 2 * 2);
            blocks.push_back({0, z, world_size() == 1 ? 0 : rank, box});
        }
    exchange_and_check(zones, Decomposition(mesh, blocks, world_size()), Reach::corners, 2);
}

TEST(HaloExchange, ReusesItsRequestsAndCountsAsPlanned) {
    const auto zones = OrientedZones::random({9, 8, 7}, {true, true, false}, 4, 3);
    const auto decomposition = Decomposition::multiblock(zones.mesh(), world_size());
    const auto specs = KnownFields::specs(1);
    Traffic traffic;
    HaloExchange<double> halo(MPI_COMM_WORLD, decomposition, specs, Reach::corners, traffic);
    KnownFields one(zones, decomposition, 1), other(zones, decomposition, 1);
    constexpr int rounds = 40;
    for (int round = 0; round < rounds; ++round) {
        KnownFields& fields = round % 3 == 0 ? other : one;
        fields.set(round);
        halo.exchange(fields.all());
        fields.check(3, round);
    }
    EXPECT_EQ(traffic[Exchange::halo].exchanges, rounds);
    EXPECT_EQ(traffic[Exchange::halo].messages, rounds * halo.messages());
    EXPECT_EQ(traffic[Exchange::halo].bytes, rounds * halo.bytes());
    EXPECT_LT(halo.messages(), world_size());

    const auto volume = halo_volume(decomposition, specs, Reach::corners);
    std::array<std::int64_t, 2> sums{halo.messages(), halo.bytes()};
    std::int64_t largest = halo.bytes();
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_EQ(volume.messages, sums[0]);
    EXPECT_EQ(volume.bytes, sums[1]);
    EXPECT_EQ(volume.max_rank_bytes, largest);
}

TEST(HaloExchange, KeepsNaNsSignedZerosAndSinglePrecision) {
    const OrientedZones zones({4, 2, 2}, {true, true, true}, {{{{0, 0, 0}, {4, 2, 2}}, {}}});
    const auto decomposition = Decomposition::multiblock(zones.mesh(), world_size());
    Traffic traffic;
    const FieldSpec spec{"f", 1, 1};
    HaloExchange<float> halo(MPI_COMM_WORLD, decomposition, {spec}, Reach::faces, traffic);
    Field<float> field(decomposition, world_rank(), spec);
    const auto value = [](std::int64_t i) {
        return (i & 3) == 0   ? -0.0F
               : (i & 3) == 1 ? std::numeric_limits<float>::quiet_NaN()
                              : 0.1F * static_cast<float>(i & 3);
    };
    for (std::size_t b = 0; b < field.blocks(); ++b)
        for (std::int64_t i = field.owned(b).lower[0]; i < field.owned(b).upper[0]; ++i)
            for (std::int64_t j = field.owned(b).lower[1]; j < field.owned(b).upper[1]; ++j)
                for (std::int64_t k = field.owned(b).lower[2]; k < field.owned(b).upper[2]; ++k)
                    field.view(b)(i, j, k) = value(i);
    halo.exchange(field);
    for (std::size_t b = 0; b < field.blocks(); ++b)
        for (const std::int64_t i : {field.owned(b).lower[0] - 1, field.owned(b).upper[0]}) {
            const float got = field.view(b)(i, field.owned(b).lower[1], field.owned(b).lower[2]);
            EXPECT_EQ(std::isnan(got), std::isnan(value(i)));
            EXPECT_EQ(std::signbit(got), std::signbit(value(i)));
            if (!std::isnan(got)) {
                EXPECT_EQ(got, value(i));
            }
        }
}

TEST(HaloExchange, RefusesOtherFieldsAndASecondBegin) {
    const auto zones = OrientedZones::random({6, 6, 6}, {true, true, true}, 2, 1);
    const auto decomposition = Decomposition::multiblock(zones.mesh(), world_size());
    Traffic traffic;
    HaloExchange<double> halo(MPI_COMM_WORLD, decomposition, {{"a", 1, 1}}, Reach::faces, traffic);
    Field<double> fits(decomposition, world_rank(), {"b", 1, 1}),
        wider(decomposition, world_rank(), {"a", 1, 2});
    EXPECT_THROW(halo.exchange(wider), std::invalid_argument);
    Field<double>* const one = &fits;
    halo.begin(std::span(&one, 1));
    EXPECT_THROW(halo.begin(std::span(&one, 1)), std::logic_error);
    halo.end();
    halo.exchange(fits);
    const auto other = Decomposition::multiblock(zones.mesh(), world_size() + 1);
    EXPECT_THROW(HaloExchange<double>(MPI_COMM_WORLD, other, {{"a", 1, 1}}, Reach::faces, traffic),
                 std::invalid_argument);
}

TEST(HaloExchange, NamesTheNeighbourThatDoesNotAnswer) {
    const auto zones = OrientedZones::random({6, 6, 6}, {true, true, true}, 2, 1);
    const auto decomposition = Decomposition::multiblock(zones.mesh(), world_size());
    Traffic traffic;
    Field<double> field(decomposition, world_rank(), {"a", 1, 1});
    Field<double>* const one = &field;
    HaloExchange<double> halo(MPI_COMM_WORLD, decomposition, {{"a", 1, 1}}, Reach::faces, traffic);
    int timed_out = 0;
    if (world_rank() > 0) { // rank 0 does not begin
        halo.begin(std::span(&one, 1));
        try {
            halo.end(std::chrono::milliseconds(500));
        } catch (const std::runtime_error& error) {
            timed_out = 1;
            EXPECT_NE(std::string(error.what()).find("no answer from rank 0;"), std::string::npos)
                << error.what();
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &timed_out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(timed_out > 0, world_size() > 1);
}

TEST(HaloExchange, CanBeDestroyedBeforeItsEnd) {
    const auto zones = OrientedZones::random({6, 6, 6}, {true, true, true}, 2, 1);
    const auto decomposition = Decomposition::multiblock(zones.mesh(), world_size());
    Traffic traffic;
    Field<double> field(decomposition, world_rank(), {"a", 1, 1});
    Field<double>* const one = &field;
    {
        HaloExchange<double> halo(MPI_COMM_WORLD, decomposition, {{"a", 1, 1}}, Reach::faces,
                                  traffic);
        halo.begin(std::span(&one, 1));
    }
    HaloExchange<double> next(MPI_COMM_WORLD, decomposition, {{"a", 1, 1}}, Reach::faces, traffic);
    next.exchange(field);
}

} // namespace
} // namespace uzushio::domain
