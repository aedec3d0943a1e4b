// One block of more than 2 GiB, beyond counts and offsets of 31 bits.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "parallel/aligned_array.hpp"
#include "staging/reader.hpp"
#include "staging/stream_group.hpp"
#include "staging/transport/socket/source.hpp"
#include "staging/writer.hpp"
#include "support/staging_sides.hpp"

namespace uzushio::staging {
namespace {

using namespace std::chrono_literals;

constexpr Extent count{550, 1000, 1000}; ///< of floats: 2.2 GB
constexpr Box whole{{}, count};

/// Return a value that differs between neighbours along each axis, and is exact as a float.
float value_at(std::int64_t i) { return static_cast<float>(i & 0xFFFFFF); }

/// Return the number of wrong values in `box`.
std::int64_t wrong_values(const float* values, const Box& box) {
    std::int64_t wrong = 0;
    for (std::int64_t z = box.lower[0]; z < box.upper[0]; ++z)
        for (std::int64_t y = box.lower[1]; y < box.upper[1]; ++y) {
            const std::int64_t line = (z * count[1] + y) * count[2];
            for (std::int64_t x = box.lower[2]; x < box.upper[2]; ++x)
                wrong += *values++ != value_at(line + x);
        }
    return wrong;
}

void expect_boxes(Reader& reader) {
    for (const Box& box :
         {Box::at({549, 999, 990}, {1, 1, 10}), Box::at({535, 0, 500}, {15, 1000, 3}),
          Box{{0, 0, 0}, {550, 2, 2}}, Box::at({536, 870, 900}, {2, 5, 100})}) {
        std::vector<float> values(static_cast<std::size_t>(box.volume()));
        EXPECT_TRUE(
            reader
                .read("u", box,
                      packed_view(reinterpret_cast<std::byte*>(values.data()), box.extents(), 1, 4))
                .empty());
        EXPECT_EQ(wrong_values(values.data(), box), 0) << to_string(box);
    }
}

TEST(StagingLarge, ABlockOfMoreThan2GiBIsReadInPartsAndAsAWhole) {
    const auto pages = static_cast<std::int64_t>(sysconf(_SC_AVPHYS_PAGES));
    if (pages * sysconf(_SC_PAGESIZE) < std::int64_t{6} << 30)
        GTEST_SKIP() << "less than 6 GiB of memory are free";
    const suite::Folder folder;
    EngineOptions options;
    options.engine = "shm";
    options.contact = folder.path() / "contact";
    options.wait_for_readers = 2;
    options.close_limit = 100ms;
    Writer writer("large", MPI_COMM_NULL, options);
    writer.uniform_mesh("mesh", whole, {}, {1, 1, 1});
    writer.field("u", "mesh", Association::element, ScalarType::float32);
    writer.block(0, "mesh", whole);
    Reader near(options.contact.string(), MPI_COMM_NULL);
    Reader far(std::make_unique<socket::SocketSource>(options.contact.string(), stream_group(),
                                                      ReaderOptions{}, ""),
               MPI_COMM_NULL);

    parallel::AlignedArray<float> values(static_cast<std::size_t>(whole.volume()));
    for (std::int64_t i = 0; i < whole.volume(); ++i)
        values.data()[i] = value_at(i);
    writer.begin_step(0, 0.0);
    writer.put("u", 0, values.data());
    ASSERT_TRUE(writer.end_step());

    ASSERT_EQ(near.next(60s), StepStatus::step);
    expect_boxes(near);
    const auto view = near.view("u", 0);
    ASSERT_TRUE(view);
    EXPECT_EQ(wrong_values(reinterpret_cast<const float*>(view->data), whole), 0);

    ASSERT_EQ(far.next(60s), StepStatus::step);
    expect_boxes(far);
    std::fill_n(values.data(), whole.volume(), -1.0f); // the solver's memory is the destination
    far.read("u", whole, packed_view(reinterpret_cast<std::byte*>(values.data()), count, 1, 4));
    EXPECT_EQ(wrong_values(values.data(), whole), 0);
}

} // namespace
} // namespace uzushio::staging
