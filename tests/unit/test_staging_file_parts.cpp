#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "staging/transport/file/array_reader.hpp"
#include "staging/transport/file/disk_writer.hpp"
#include "staging/transport/file/documents.hpp"
#include "staging/transport/file/file_source.hpp"
#include "staging/transport/file/names.hpp"
#include "staging/transport/file/packed_stream.hpp"
#include "staging/wire/checksum.hpp"
#include "support/random_array.hpp"
#include "support/staging_sides.hpp"

namespace uzushio::staging::file {
namespace {

namespace fs = std::filesystem;
using namespace arrays;

TEST(StagingFileChunks, AreContiguousAndContainEveryByteOnce) {
    Random random(1);
    for (int round = 0; round < 500; ++round) {
        std::vector<std::int64_t> shape(static_cast<std::size_t>(draw(random, 1, 4)));
        for (auto& count : shape)
            count = draw(random, 1, 9);
        const std::int64_t scalar = std::int64_t{1} << draw(random, 0, 3);
        const std::int64_t most = draw(random, 8, 600);
        const ChunkGrid grid = ChunkGrid::cut(shape, scalar, most);
        ASSERT_LE(grid.chunk_bytes(), most);
        ASSERT_EQ(grid.bytes(),
                  std::accumulate(shape.begin(), shape.end(), scalar, std::multiplies<>()));

        std::map<std::string, std::int64_t> filled; // visited bytes of each chunk's file
        for (std::int64_t offset = 0; offset < grid.bytes();) {
            const ChunkPlace place = grid.place(offset);
            ASSERT_GT(place.bytes, 0);
            for (std::size_t axis = 0; axis < shape.size(); ++axis)
                ASSERT_LT(place.chunk[axis] * grid.chunk()[axis], shape[axis]);
            const std::string name = chunk_name(place.chunk);
            ASSERT_EQ(filled[name], place.offset) << name << " continues where it stopped";
            const std::int64_t step = draw(random, 1, place.bytes);
            filled[name] += step;
            ASSERT_LE(filled[name], grid.chunk_bytes());
            offset += step;
        }
        ASSERT_EQ(ChunkGrid(shape, grid.chunk(), scalar), grid);
    }
}

TEST(StagingFileChunks, HaveLittlePaddingIfTheyDoNotDivideTheArray) {
    for (const std::int64_t planes : {101, 257, 1000, 4097}) {
        const ChunkGrid grid = ChunkGrid::cut({planes, 64, 64}, 8, std::int64_t{1} << 20);
        const std::int64_t chunks = (planes + grid.chunk()[0] - 1) / grid.chunk()[0];
        EXPECT_LE(static_cast<double>(chunks * grid.chunk_bytes()),
                  1.05 * static_cast<double>(grid.bytes()));
    }
}

TEST(StagingFileStream, IsTheValuesInOrderForAnyStrides) {
    Random random(2);
    std::vector<std::byte> buffer(64);
    for (int round = 0; round < 1000; ++round) {
        const Extent count{draw(random, 0, 6), draw(random, 1, 6), draw(random, 1, 6)};
        const Array array =
            random_array(random, count, draw(random, 1, 3), std::int64_t{1} << draw(random, 0, 3));
        for (const ComponentOrder order : {ComponentOrder::interleaved, ComponentOrder::planar}) {
            PackedStream stream(array.view, order, buffer);
            std::vector<std::byte> all;
            for (auto part = stream.next(draw(random, 1, 90)); !part.empty();
                 part = stream.next(draw(random, 1, 90)))
                all.insert(all.end(), part.begin(), part.end());
            ASSERT_EQ(all, listed(array.view, order)) << "round " << round;
        }
    }
}

TEST(StagingFileStream, ReturnsRunsOfEveryLengthInTheSameOrder) {
    std::vector<std::byte> buffer(512 << 10);
    for (const std::int64_t row : {1, 63, 64, 700, 8192, 70000}) {
        std::vector<std::int64_t> memory(static_cast<std::size_t>(3 * 5 * (row + 3)));
        std::iota(memory.begin(), memory.end(), 0);
        const ConstArrayView view{reinterpret_cast<const std::byte*>(memory.data()),
                                  {3, 5, row},
                                  interleaved({3, 5, row + 3}, 1, 8),
                                  1,
                                  8};
        PackedStream stream(view, ComponentOrder::interleaved, buffer);
        std::vector<std::byte> all;
        for (auto part = stream.next(100000); !part.empty(); part = stream.next(100000))
            all.insert(all.end(), part.begin(), part.end());
        EXPECT_EQ(all, listed(view, ComponentOrder::interleaved)) << row;
    }
}

TEST(StagingFileNames, AreUnique) {
    const std::vector<std::string> fields{"u",
                                          "U",
                                          "a/b",
                                          "a%2Fb",
                                          "..",
                                          ".",
                                          "",
                                          "%",
                                          "__x",
                                          "table",
                                          "zarr.json",
                                          "%74able",
                                          "u v",
                                          "速",
                                          std::string(300, 'a'),
                                          std::string(301, 'a')};
    std::set<std::string> names;
    for (const auto& field : fields) {
        const std::string name = field_name(field);
        EXPECT_TRUE(names.insert(name).second) << field;
        EXPECT_EQ(name.find('/'), std::string::npos);
        EXPECT_LT(name.size(), 256u);
        EXPECT_FALSE(name.starts_with("__") || name.starts_with("."));
        EXPECT_TRUE(name != table_folder && name != document);
    }
}

TEST(StagingFileArray, ReturnsEveryWrittenBox) {
    const suite::Folder shared;
    const fs::path root = shared.path();
    Random random(3);
    DiskWriter disk(false);
    std::vector<std::byte> buffer(64 << 10);
    for (int round = 0; round < 60; ++round) {
        // Some rows are longer than the span that is read around short runs.
        const Extent count{draw(random, 1, 7), draw(random, 1, 7),
                           draw(random, 0, 4) == 0 ? draw(random, 3000, 9000)
                                                   : draw(random, 1, 40)};
        const std::int64_t components = draw(random, 1, 3);
        Array array = random_array(random, count, components, 8);

        StepInfo step;
        step.coordsets = {{"m", UniformCoords{}}};
        step.topologies = {{"m", 0, 3, {{}, count}}};
        step.fields = {{"f",
                        0,
                        Association::element,
                        ScalarType::float64,
                        static_cast<std::uint32_t>(components),
                        {}}};
        step.blocks = {Block::with_elements({{}, count})};
        StoredArray stored;
        stored.layout = array.view.layout;
        const auto form = [&] {
            step.blocks[0].arrays = {stored};
            return ArrayForm::of(step, step.blocks[0], stored);
        };
        stored.layout = form().layout();
        const ArrayForm packed = form();

        const fs::path folder = root / std::to_string(round);
        const fs::path place = array_path(folder, "f", 0);
        fs::create_directories(place);
        const ChunkGrid grid = ChunkGrid::cut(
            packed.shape(), 8,
            draw(random, std::max<std::int64_t>(64, array.view.bytes() / 30), 200000));
        const auto sum = disk.write_array(place, array.view, packed, grid);
        EXPECT_EQ(sum, checksum(array.view, packed.order));
        disk.write_file(place / document,
                        bytes_of(array_document(step, step.blocks[0], stored, packed, grid)));
        disk.sync();

        ArrayReader reader(folder, true, buffer);
        for (int i = 0; i < 10; ++i) {
            Extent part{};
            for (std::size_t a = 0; a < 3; ++a)
                part[a] = draw(random, 1, count[a]);
            const Box box = random_box(random, count, part);
            const std::int64_t first = draw(random, 0, components - 1);
            const std::int64_t some = draw(random, 1, components - first);
            Array to = random_array(random, part, some, 8);
            reader.read(step, {0,
                               {0, 0, 0, 0, box, static_cast<std::uint32_t>(first),
                                static_cast<std::uint32_t>(some), ComponentOrder::planar},
                               to.view});
            ASSERT_EQ(
                listed(to.view, ComponentOrder::planar),
                listed(array.view.sub(box).select_components(first, some), ComponentOrder::planar))
                << "round " << round << ", box " << to_string(box);
        }
    }
}

TEST(StagingFileContact, IsAFolderOrHasTheNameOfAStore) {
    const suite::Folder shared;
    std::ofstream(shared.path() / "run.contact") << "x";
    EXPECT_TRUE(is_store_contact((shared.path() / "").string()));
    EXPECT_TRUE(is_store_contact((shared.path() / "not-there-yet.zarr").string()));
    EXPECT_TRUE(is_store_contact((shared.path() / "not-there-yet.zarr/").string()));
    EXPECT_FALSE(is_store_contact((shared.path() / "run.contact").string()));
    EXPECT_FALSE(is_store_contact("login.example:47000"));
    EXPECT_FALSE(is_store_contact("mpi:flow"));
}

} // namespace
} // namespace uzushio::staging::file
