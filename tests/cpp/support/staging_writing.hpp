#pragma once

#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "staging/writer.hpp"
#include "support/staging_world.hpp"

namespace uzushio::staging::suite {

/// One rank of a solver that publishes a world. It describes as little or as much as it likes, in
/// any order, and gives its values in every way there is.
class WriterActor {
  public:
    WriterActor(Writer& writer, const World& world, int rank)
        : writer_(writer), world_(world), rank_(rank),
          random_(world.seed * 1000 + static_cast<std::uint64_t>(rank)) {
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
            give(step, *block, *array);
        const auto sequence = writer_.end_step();
        for (Canvas& canvas : canvases_)
            canvas.overwrite(std::byte{0x5A}); // the solver goes on
        canvases_.clear();
        given_.clear();
        return sequence;
    }

    /// Where this rank has the first value of an array in the step that is open; null if it has
    /// none.
    [[nodiscard]] const std::byte* given(std::size_t field, std::uint64_t block) const {
        const auto place = given_.find({field, block});
        return place == given_.end() ? nullptr : place->second;
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
        for (std::size_t mesh = 0; mesh < world_.meshes.size(); ++mesh)
            if (chance(random_, 0.2))
                meshes.insert(mesh); // though it has no block of it, or again
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
                writer_.block(block.id, world_.meshes[block.mesh].name, block.owned,
                              block.association);
    }

    void describe_mesh(std::size_t number) {
        const MeshScript& mesh = world_.meshes[number];
        if (const auto* uniform = std::get_if<UniformCoords>(&mesh.coords))
            writer_.uniform_mesh(mesh.name, mesh.elements, uniform->origin, uniform->spacing,
                                 mesh.dimension);
        if (const auto* lines = std::get_if<RectilinearCoords>(&mesh.coords))
            writer_.rectilinear_mesh(mesh.name, mesh.elements, lines->values, mesh.dimension);
        std::vector<std::size_t> order(world_.fields.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::shuffle(order.begin(), order.end(), random_);
        if (const auto* points = std::get_if<ExplicitCoords>(&mesh.coords))
            for (const auto& field : world_.fields)
                if (field.name == points->field)
                    writer_.curvilinear_mesh(mesh.name, mesh.elements, field.name, field.type,
                                             mesh.dimension);
        for (const std::size_t f : order) {
            const FieldScript& field = world_.fields[f];
            const auto* points = std::get_if<ExplicitCoords>(&mesh.coords);
            if (field.mesh == number && (points == nullptr || points->field != field.name))
                writer_.field(field.name, mesh.name, field.association, field.type,
                              field.components, {{"units", "m/s"}});
        }
    }

    void give(const StepScript& step, const BlockScript& block, const ArrayScript& array) {
        const FieldScript& field = world_.fields[array.field];
        const Box stored = grow(owned_box(world_, block, field.association), array.ghosts);
        const std::int64_t bytes = size_of(field.type);
        ArrayView values;
        if (array.give == Give::buffer) {
            values = writer_.buffer(field.name, block.id, array.ghosts);
        } else if (array.give == Give::strided) {
            values = canvases_.emplace_back(random_, stored.count, field.components, bytes).view();
        } else {
            // Room for a packed array: the canvas is of the right size or larger.
            Canvas& canvas = canvases_.emplace_back(random_, stored.count, field.components, bytes);
            values = packed_view(canvas.memory().data(), stored.count, field.components, bytes);
        }
        for_each_index(stored, [&](const Extent& index) {
            Extent inside;
            for (std::size_t a = 0; a < 3; ++a)
                inside[a] = index[a] - stored.start[a];
            for (std::int64_t c = 0; c < field.components; ++c) {
                const auto value = value_of(field.type, truth(array.field, step.index, index, c));
                std::copy_n(value.begin(), bytes, at(values, inside, c));
            }
        });
        given_[{array.field, block.id}] = values.data;
        if (array.give == Give::packed)
            writer_.put(field.name, block.id, static_cast<const void*>(values.data), array.ghosts);
        if (array.give == Give::strided)
            writer_.put(field.name, block.id, ConstArrayView(values), array.ghosts);
    }

    Writer& writer_;
    const World& world_;
    int rank_;
    Random random_;
    std::set<std::uint64_t> held_;
    std::vector<Canvas> canvases_;
    std::map<std::pair<std::size_t, std::uint64_t>, const std::byte*> given_;
};

} // namespace uzushio::staging::suite
