#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "staging/reader.hpp"
#include "staging/staging_error.hpp"
#include "support/staging_world.hpp"

namespace uzushio::staging::suite {

/// What a reader of some engine cannot expect.
struct Expected {
    /// Blocks, their ranks and their ghost layers come as they were written.
    bool table = true;
    /// Arrays may carry checksums, and they are right.
    bool checksums = true;
};

/// One rank of a reader that knows what a world must look like, and looks at everything.
class ReaderActor {
  public:
    /// `shared` ranks draw the same: all make equally many reads, each of its own boxes.
    ReaderActor(const World& world, int rank, const Expected& expected)
        : world_(world), expected_(expected), shared_(world.seed + 17),
          random_(world.seed * 1000 + 500 + static_cast<std::uint64_t>(rank)) {}

    void check(Reader& reader, const StepScript& step) {
        SCOPED_TRACE("world " + std::to_string(world_.seed) + ", step " +
                     std::to_string(step.index));
        check_header(reader.step(), step);
        if (expected_.table)
            check_table(reader.step(), step);
        const std::int64_t reads = draw(shared_, 2, 8);
        for (std::int64_t i = 0; i < reads; ++i)
            check_box(reader, step, random_box());
        check_box(reader, step, std::nullopt);
        if (!reader.step().blocks.empty())
            for (std::int64_t i = 0; i < reads; ++i)
                check_block(reader, step);
    }

    /// One read of one box: for readers that have little time.
    void glance(Reader& reader, const StepScript& step) {
        SCOPED_TRACE("world " + std::to_string(world_.seed) + ", step " +
                     std::to_string(step.index));
        check_header(reader.step(), step);
        check_box(reader, step, random_box());
    }

    /// Called with each view of a block, and the world's number of its field.
    std::function<void(std::size_t field, std::uint64_t block, const ConstArrayView&)> on_view;

  private:
    struct FieldAndBox {
        std::size_t field;
        Box box;
    };

    static std::string to_text(const Attribute& attribute) {
        if (const auto* text = std::get_if<std::string>(&attribute.value))
            return *text;
        if (const auto* number = std::get_if<double>(&attribute.value))
            return std::to_string(*number);
        return std::to_string(std::get<std::int64_t>(attribute.value));
    }

    static void check_header(const StepInfo& got, const StepScript& step) {
        EXPECT_EQ(got.index, step.index);
        EXPECT_EQ(got.time, step.time);
        std::string text;
        for (const auto& attribute : got.attributes)
            text += attribute.name + "=" + to_text(attribute) + ";";
        EXPECT_NE(text.find("Re=180.5"), std::string::npos) << text;
        EXPECT_NE(text.find("case=7;"), std::string::npos) << text;
        EXPECT_NE(text.find("note=" + step.note + ";"), std::string::npos) << text;
    }

    void check_field(const StepInfo& got, std::size_t number) const {
        const FieldScript& field = world_.fields[number];
        const MeshScript& mesh = world_.meshes[field.mesh];
        const auto place = find_field(got, field.name);
        ASSERT_TRUE(place) << field.name;
        const Field& there = got.fields[*place];
        EXPECT_EQ(there.association, field.association);
        EXPECT_EQ(there.type, field.type);
        EXPECT_EQ(there.components, field.components);
        const Topology& topology = got.topologies[there.topology];
        EXPECT_EQ(topology.name, mesh.name);
        EXPECT_EQ(topology.elements, mesh.elements);
        EXPECT_EQ(topology.dimension, mesh.dimension);
        EXPECT_EQ(got.coordsets[topology.coordset].coords, mesh.coords);
    }

    void check_table(const StepInfo& got, const StepScript& step) const {
        std::size_t blocks = 0;
        for (const auto& block : step.blocks) {
            if (block.arrays.empty())
                continue;
            ++blocks;
            const auto there =
                std::find_if(got.blocks.begin(), got.blocks.end(),
                             [&](const Block& other) { return other.id == block.id; });
            ASSERT_NE(there, got.blocks.end()) << block.id;
            EXPECT_EQ(there->rank, static_cast<std::uint32_t>(block.rank));
            EXPECT_EQ(there->elements, owned_box(world_, block, Association::element));
            EXPECT_EQ(there->vertices, owned_box(world_, block, Association::vertex));
            ASSERT_EQ(there->arrays.size(), block.arrays.size());
            for (const auto& array : block.arrays) {
                check_field(got, array.field);
                const auto same = std::find_if(
                    there->arrays.begin(), there->arrays.end(), [&](const StoredArray& other) {
                        return got.fields[other.field].name == world_.fields[array.field].name;
                    });
                ASSERT_NE(same, there->arrays.end());
                EXPECT_EQ(same->ghosts, array.ghosts);
            }
        }
        EXPECT_EQ(got.blocks.size(), blocks);
    }

    /// In or about the mesh of some field.
    FieldAndBox random_box() {
        const auto field =
            static_cast<std::size_t>(draw(random_, 0, std::ssize(world_.fields) - 1));
        const MeshScript& mesh = world_.meshes[world_.fields[field].mesh];
        Box box = mesh.elements;
        for (std::size_t axis = 3 - std::size_t{mesh.dimension}; axis < 3; ++axis) {
            const std::int64_t first = draw(random_, box.start[axis] - 2, box.end(axis) + 1);
            const std::int64_t last = draw(random_, first, box.end(axis) + 2);
            box.start[axis] = first;
            box.count[axis] = last - first;
        }
        return {field, box};
    }

    /// Boxes of the field that are somewhere.
    std::vector<Box> stored(const StepScript& step, std::size_t field) const {
        std::vector<Box> boxes;
        for (const auto& block : step.blocks)
            for (const auto& array : block.arrays)
                if (array.field == field) {
                    const Box owned = owned_box(world_, block, world_.fields[field].association);
                    boxes.push_back(expected_.table ? grow(owned, array.ghosts) : owned);
                }
        return boxes;
    }

    /// Nothing: read an empty box, of the first field that is there.
    void check_box(Reader& reader, const StepScript& step, std::optional<FieldAndBox> wanted) {
        // A field that no block has need not be known; all ranks must read equally often.
        if (wanted && !find_field(reader.step(), world_.fields[wanted->field].name)) {
            EXPECT_TRUE(stored(step, wanted->field).empty());
            wanted.reset();
        }
        if (!wanted) {
            if (reader.step().fields.empty())
                return;
            const Field& field = reader.step().fields.front();
            const ArrayView nothing =
                packed_view<std::byte>(nullptr, {}, field.components, size_of(field.type));
            EXPECT_TRUE(reader.read(field.name, {}, nothing).empty());
            return;
        }
        const auto [number, box] = *wanted;
        const FieldScript& field = world_.fields[number];
        Canvas canvas(random_, box.count, field.components, size_of(field.type));
        const std::vector<Box> missing = reader.read(field.name, box, canvas.view());
        const std::vector<Box> there = stored(step, number);
        std::int64_t wrong = 0, touched = 0, told = 0;
        for_each_index(box, [&](const Extent& index) {
            const auto holds = [&](const Box& part) { return part.contains({index, {1, 1, 1}}); };
            const bool held = std::any_of(there.begin(), there.end(), holds);
            const auto gaps = std::count_if(missing.begin(), missing.end(), holds);
            told += gaps != (held ? 0 : 1);
            (held ? wrong : touched) +=
                !matches(canvas.view(), number, step.index, box, index, !held);
        });
        EXPECT_EQ(wrong, 0) << field.name << " " << to_string(box);
        EXPECT_EQ(touched, 0) << "values of no block in " << field.name << " " << to_string(box);
        EXPECT_EQ(told, 0) << "boxes told as missing of " << field.name << " " << to_string(box);
        EXPECT_EQ(canvas.spoilt(), 0);
    }

    /// Whether all components at `index` are those sent, or as the canvas was (`untouched`).
    [[nodiscard]] bool matches(const ConstArrayView& view, std::size_t field, std::int64_t step,
                               const Box& box, const Extent& index, bool untouched) const {
        Extent inside;
        for (std::size_t a = 0; a < 3; ++a)
            inside[a] = index[a] - box.start[a];
        for (std::int64_t c = 0; c < view.components; ++c) {
            auto value = value_of(world_.fields[field].type, truth(field, step, index, c));
            if (untouched)
                value.fill(Canvas::filling);
            if (!std::equal(value.begin(), value.begin() + view.scalar_bytes, at(view, inside, c)))
                return false;
        }
        return true;
    }
    [[nodiscard]] std::int64_t mismatches(const ConstArrayView& view, std::size_t field,
                                          std::int64_t step, const Box& box) const {
        std::int64_t wrong = 0;
        for_each_index(box, [&](const Extent& index) {
            wrong += !matches(view, field, step, box, index, false);
        });
        return wrong;
    }

    /// Some block, whole; with and without its ghost layers; and where it is, if that is possible.
    void check_block(Reader& reader, const StepScript& step) {
        const StepInfo& info = reader.step();
        const auto number =
            static_cast<std::uint32_t>(draw(random_, 0, std::ssize(info.blocks) - 1));
        const Block& block = info.blocks[number];
        const auto place = static_cast<std::size_t>(draw(random_, 0, std::ssize(block.arrays) - 1));
        const StoredArray& array = block.arrays[place];
        const Field& field = info.fields[array.field];
        const auto known =
            std::find_if(world_.fields.begin(), world_.fields.end(),
                         [&](const FieldScript& other) { return other.name == field.name; });
        const auto of = static_cast<std::size_t>(known - world_.fields.begin());
        const Box all = stored_box(info, block, array);
        const bool with_ghosts = chance(random_, 0.5);
        const Box box = with_ghosts ? all : block.owned(field.association);

        Canvas canvas(random_, box.count, field.components, size_of(field.type));
        reader.read_block(field.name, number, with_ghosts, canvas.view());
        EXPECT_EQ(mismatches(canvas.view(), of, step.index, box), 0)
            << field.name << " of block " << block.id << " " << to_string(box);
        EXPECT_EQ(canvas.spoilt(), 0);
        if (const auto view = reader.view(field.name, number)) {
            EXPECT_EQ(view->count, all.count);
            EXPECT_EQ(mismatches(*view, of, step.index, all), 0)
                << field.name << " of block " << block.id << " where it is";
            if (on_view)
                on_view(of, block.id, *view);
        }
        if (expected_.checksums && array.checksum) {
            EXPECT_TRUE(reader.verify(field.name, number)) << field.name;
        }
    }

    const World& world_;
    Expected expected_;
    Random shared_;
    Random random_;
};

} // namespace uzushio::staging::suite
