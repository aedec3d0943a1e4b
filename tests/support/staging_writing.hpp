#pragma once

#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "staging/writer.hpp"
#include "support/staging_script.hpp"

namespace uzushio::staging::suite {

/// One rank of a solver that publishes the steps of a script. Its descriptions are random in extent
/// and order, and it publishes values in every mode.
class WriterActor {
  public:
    WriterActor(Writer& writer, const StreamScript& script, int rank)
        : writer_(writer), script_(script), rank_(rank),
          random_(script.seed * 1000 + static_cast<std::uint64_t>(rank)) {
        writer_.attribute("Re", 180.5);
        writer_.attribute("case", std::int64_t{7});
    }

    std::optional<std::uint64_t> publish(const StepScript& step) {
        describe(step);
        writer_.begin_step(step.index, step.time);
        std::vector<std::pair<const BlockScript*, const ArrayScript*>> all;
        for (const auto& block : step.blocks)
            if (block.rank == rank_)
                for (const auto& array : block.arrays)
                    all.emplace_back(&block, &array);
        std::shuffle(all.begin(), all.end(), random_);
        for (const auto& [block, array] : all)
            put(step, *block, *array);
        const auto sequence = writer_.end_step();
        for (GuardedArray& guarded : arrays_)
            guarded.overwrite(std::byte{0x5A}); // the solver continues
        arrays_.clear();
        addresses_.clear();
        return sequence;
    }

    /// Return the address of an array's first value in the open step; null if this rank does not
    /// publish it.
    [[nodiscard]] const std::byte* published_address(std::size_t field, std::uint64_t block) const {
        const auto place = addresses_.find({field, block});
        return place == addresses_.end() ? nullptr : place->second;
    }

  private:
    void describe(const StepScript& step) {
        writer_.attribute("note", step.note);
        std::set<std::size_t> meshes;
        std::set<std::uint64_t> ids;
        for (const auto& block : step.blocks)
            if (block.rank == rank_) {
                meshes.insert(block.mesh);
                ids.insert(block.id);
            }
        for (std::size_t mesh = 0; mesh < script_.meshes.size(); ++mesh)
            if (chance(random_, 0.2))
                meshes.insert(mesh); // without a block of it, or again
        std::vector<std::size_t> order(meshes.begin(), meshes.end());
        std::shuffle(order.begin(), order.end(), random_);
        for (const std::size_t mesh : order)
            describe_mesh(mesh);

        for (const std::uint64_t id : held_)
            if (!ids.contains(id))
                writer_.remove_block(id);
        held_ = ids;
        for (const auto& block : step.blocks)
            if (block.rank == rank_)
                writer_.block(block.id, script_.meshes[block.mesh].name, block.owned,
                              block.association);
    }

    void describe_mesh(std::size_t number) {
        const MeshScript& mesh = script_.meshes[number];
        if (const auto* uniform = std::get_if<UniformCoords>(&mesh.coords))
            writer_.uniform_mesh(mesh.name, mesh.elements, uniform->origin, uniform->spacing,
                                 mesh.dimension);
        if (const auto* lines = std::get_if<RectilinearCoords>(&mesh.coords))
            writer_.rectilinear_mesh(mesh.name, mesh.elements, lines->values, mesh.dimension);
        std::vector<std::size_t> order(script_.fields.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::shuffle(order.begin(), order.end(), random_);
        if (const auto* points = std::get_if<ExplicitCoords>(&mesh.coords))
            for (const auto& field : script_.fields)
                if (field.name == points->field)
                    writer_.curvilinear_mesh(mesh.name, mesh.elements, field.name, field.type,
                                             mesh.dimension);
        for (const std::size_t f : order) {
            const FieldScript& field = script_.fields[f];
            const auto* points = std::get_if<ExplicitCoords>(&mesh.coords);
            if (field.mesh == number && (points == nullptr || points->field != field.name))
                writer_.field(field.name, mesh.name, field.association, field.type,
                              field.components, {{"units", "m/s"}});
        }
    }

    void put(const StepScript& step, const BlockScript& block, const ArrayScript& array) {
        const FieldScript& field = script_.fields[array.field];
        const Box stored = grow(owned_box(script_, block, field.association), array.ghosts);
        const std::int64_t bytes = size_of(field.type);
        ArrayView values;
        if (array.mode == PutMode::buffer) {
            values = writer_.buffer(field.name, block.id, array.ghosts);
        } else if (array.mode == PutMode::strided) {
            values =
                arrays_.emplace_back(random_, stored.extents(), field.components, bytes).view();
        } else {
            // The memory of the guarded array is large enough for a packed one.
            GuardedArray& guarded =
                arrays_.emplace_back(random_, stored.extents(), field.components, bytes);
            values =
                packed_view(guarded.memory().data(), stored.extents(), field.components, bytes);
        }
        for_each_index(stored, [&](const Extent& index) {
            Extent inside;
            for (std::size_t a = 0; a < 3; ++a)
                inside[a] = index[a] - stored.lower[a];
            for (std::int64_t c = 0; c < field.components; ++c) {
                const auto value =
                    value_of(field.type, expected_bits(array.field, step.index, index, c));
                std::copy_n(value.begin(), bytes, at(values, inside, c));
            }
        });
        addresses_[{array.field, block.id}] = values.data;
        if (array.mode == PutMode::packed)
            writer_.put(field.name, block.id, static_cast<const void*>(values.data), array.ghosts);
        if (array.mode == PutMode::strided)
            writer_.put(field.name, block.id, ConstArrayView(values), array.ghosts);
    }

    Writer& writer_;
    const StreamScript& script_;
    int rank_;
    Random random_;
    std::set<std::uint64_t> held_;
    std::vector<GuardedArray> arrays_;
    std::map<std::pair<std::size_t, std::uint64_t>, const std::byte*> addresses_;
};

} // namespace uzushio::staging::suite
