#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "staging/reader.hpp"
#include "staging/staging_error.hpp"
#include "support/staging_script.hpp"

namespace uzushio::staging::suite {

/// Guarantees of an engine that not all engines give.
struct Expected {
    /// Blocks, their ranks and their ghost layers are those of the writer.
    bool table = true;
    /// Arrays may have checksums, which are correct.
    bool checksums = true;
};

/// One rank of a reader that compares tables and values with those of the script.
class ReaderActor {
  public:
    /// All ranks draw the same numbers from `shared_`, so that they make the same number of reads;
    /// each reads its own boxes.
    ReaderActor(const StreamScript& script, int rank, const Expected& expected)
        : script_(script), expected_(expected), shared_(script.seed + 17),
          random_(script.seed * 1000 + 500 + static_cast<std::uint64_t>(rank)) {}

    void check(Reader& reader, const StepScript& step) {
        SCOPED_TRACE("seed " + std::to_string(script_.seed) + ", step " +
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

    /// Check one box only, for readers that must be fast.
    void check_one_box(Reader& reader, const StepScript& step) {
        SCOPED_TRACE("script " + std::to_string(script_.seed) + ", step " +
                     std::to_string(step.index));
        check_header(reader.step(), step);
        check_box(reader, step, random_box());
    }

    /// Called with each view of a block, and the index of its field in the script.
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
        const FieldScript& field = script_.fields[number];
        const MeshScript& mesh = script_.meshes[field.mesh];
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
            EXPECT_EQ(there->elements, owned_box(script_, block, Association::element));
            EXPECT_EQ(there->vertices, owned_box(script_, block, Association::vertex));
            ASSERT_EQ(there->arrays.size(), block.arrays.size());
            for (const auto& array : block.arrays) {
                check_field(got, array.field);
                const auto same = std::find_if(
                    there->arrays.begin(), there->arrays.end(), [&](const StoredArray& other) {
                        return got.fields[other.field].name == script_.fields[array.field].name;
                    });
                ASSERT_NE(same, there->arrays.end());
                EXPECT_EQ(same->ghosts, array.ghosts);
            }
        }
        EXPECT_EQ(got.blocks.size(), blocks);
    }

    /// Return a random field, and a box in its mesh or partly outside.
    FieldAndBox random_box() {
        const auto field =
            static_cast<std::size_t>(draw(random_, 0, std::ssize(script_.fields) - 1));
        const MeshScript& mesh = script_.meshes[script_.fields[field].mesh];
        Box box = mesh.elements;
        for (std::size_t axis = 3 - std::size_t{mesh.dimension}; axis < 3; ++axis) {
            const std::int64_t first = draw(random_, box.lower[axis] - 2, box.upper[axis] + 1);
            const std::int64_t last = draw(random_, first, box.upper[axis] + 2);
            box.lower[axis] = first;
            box.upper[axis] = last;
        }
        return {field, box};
    }

    /// Return the stored boxes of a field.
    std::vector<Box> stored(const StepScript& step, std::size_t field) const {
        std::vector<Box> boxes;
        for (const auto& block : step.blocks)
            for (const auto& array : block.arrays)
                if (array.field == field) {
                    const Box owned = owned_box(script_, block, script_.fields[field].association);
                    boxes.push_back(expected_.table ? grow(owned, array.ghosts) : owned);
                }
        return boxes;
    }

    /// Read and check a box; without a box, read an empty one of the first field of the step.
    void check_box(Reader& reader, const StepScript& step, std::optional<FieldAndBox> wanted) {
        // A field without blocks may be missing; all ranks must make the same number of reads.
        if (wanted && !find_field(reader.step(), script_.fields[wanted->field].name)) {
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
        const FieldScript& field = script_.fields[number];
        GuardedArray guarded(random_, box.extents(), field.components, size_of(field.type));
        const std::vector<Box> missing = reader.read(field.name, box, guarded.view());
        const std::vector<Box> there = stored(step, number);
        std::int64_t wrong = 0, touched = 0, misreported = 0;
        for_each_index(box, [&](const Extent& index) {
            const auto holds = [&](const Box& part) { return part.contains(index); };
            const bool held = std::any_of(there.begin(), there.end(), holds);
            const auto gaps = std::count_if(missing.begin(), missing.end(), holds);
            misreported += gaps != (held ? 0 : 1);
            (held ? wrong : touched) +=
                !matches(guarded.view(), number, step.index, box, index, !held);
        });
        EXPECT_EQ(wrong, 0) << field.name << " " << to_string(box);
        EXPECT_EQ(touched, 0) << "values of no block in " << field.name << " " << to_string(box);
        EXPECT_EQ(misreported, 0) << "boxes misreported as missing of " << field.name << " "
                                  << to_string(box);
        EXPECT_EQ(guarded.overwritten_gaps(), 0);
    }

    /// Return whether all components at `index` are those published, or unchanged (`untouched`).
    [[nodiscard]] bool matches(const ConstArrayView& view, std::size_t field, std::int64_t step,
                               const Box& box, const Extent& index, bool untouched) const {
        Extent inside;
        for (std::size_t a = 0; a < 3; ++a)
            inside[a] = index[a] - box.lower[a];
        for (std::int64_t c = 0; c < view.components; ++c) {
            auto value = value_of(script_.fields[field].type, expected_bits(field, step, index, c));
            if (untouched)
                value.fill(GuardedArray::filling);
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

    /// Check a random block, with or without its ghost layers, and its view if there is one.
    void check_block(Reader& reader, const StepScript& step) {
        const StepInfo& info = reader.step();
        const auto number =
            static_cast<std::uint32_t>(draw(random_, 0, std::ssize(info.blocks) - 1));
        const Block& block = info.blocks[number];
        const auto place = static_cast<std::size_t>(draw(random_, 0, std::ssize(block.arrays) - 1));
        const StoredArray& array = block.arrays[place];
        const Field& field = info.fields[array.field];
        const auto known =
            std::find_if(script_.fields.begin(), script_.fields.end(),
                         [&](const FieldScript& other) { return other.name == field.name; });
        const auto of = static_cast<std::size_t>(known - script_.fields.begin());
        const Box all = stored_box(info, block, array);
        const bool with_ghosts = chance(random_, 0.5);
        const Box box = with_ghosts ? all : block.owned(field.association);

        GuardedArray guarded(random_, box.extents(), field.components, size_of(field.type));
        reader.read_block(field.name, number, with_ghosts, guarded.view());
        EXPECT_EQ(mismatches(guarded.view(), of, step.index, box), 0)
            << field.name << " of block " << block.id << " " << to_string(box);
        EXPECT_EQ(guarded.overwritten_gaps(), 0);
        if (const auto view = reader.view(field.name, number)) {
            EXPECT_EQ(view->count, all.extents());
            EXPECT_EQ(mismatches(*view, of, step.index, all), 0)
                << field.name << " of block " << block.id << " in a view";
            if (on_view)
                on_view(of, block.id, *view);
        }
        if (expected_.checksums && array.checksum) {
            EXPECT_TRUE(reader.verify(field.name, number)) << field.name;
        }
    }

    const StreamScript& script_;
    Expected expected_;
    Random shared_;
    Random random_;
};

} // namespace uzushio::staging::suite
