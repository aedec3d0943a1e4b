#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "staging/datamodel/step_info.hpp"
#include "support/staging_values.hpp"

namespace uzushio::staging::suite {

/// How a writer publishes the values of an array.
enum class PutMode : std::uint8_t { packed, strided, buffer };

struct ArrayScript {
    std::size_t field = 0;
    Ghosts ghosts;
    PutMode mode = PutMode::packed;
};

struct BlockScript {
    std::uint64_t id = 0;
    std::size_t mesh = 0;
    int rank = 0;
    Association association = Association::element; ///< of `owned`
    Box owned;
    std::vector<ArrayScript> arrays; ///< if empty, the block is not in the step
};

struct StepScript {
    std::int64_t index = 0;
    double time = 0;
    std::string note; ///< an attribute
    std::vector<BlockScript> blocks;
};

struct MeshScript {
    std::string name;
    Box elements;
    std::uint8_t dimension = 3;
    std::variant<UniformCoords, RectilinearCoords, ExplicitCoords> coords;
};

struct FieldScript {
    std::string name;
    std::size_t mesh = 0;
    Association association = Association::vertex;
    ScalarType type = ScalarType::float64;
    std::uint32_t components = 1;
};

/// Meshes, fields and steps that writers will publish. Derived from a seed, so that readers know
/// them.
struct StreamScript {
    std::uint64_t seed = 0;
    int writers = 1;
    std::vector<MeshScript> meshes;
    std::vector<FieldScript> fields;
    std::vector<StepScript> steps;
};

inline Box owned_box(const StreamScript& script, const BlockScript& block,
                     Association association) {
    const std::uint8_t dimension = script.meshes[block.mesh].dimension;
    const Block whole = block.association == Association::element
                            ? Block::with_elements(block.owned, dimension)
                            : Block::with_vertices(block.owned, dimension);
    return whole.owned(association);
}

using seeded::cut;

namespace detail {

inline MeshScript make_mesh(Random& random, std::size_t number) {
    MeshScript mesh;
    mesh.name = "mesh" + std::to_string(number);
    mesh.dimension = static_cast<std::uint8_t>(draw(random, 1, 3));
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const bool used = axis + mesh.dimension >= 3;
        mesh.elements.lower[axis] = used ? draw(random, -3, 5) : 0;
        mesh.elements.upper[axis] =
            mesh.elements.lower[axis] + (used ? draw(random, 2, mesh.dimension == 1 ? 40 : 9) : 1);
    }
    const auto kind = draw(random, 0, 2);
    if (kind == 0) {
        mesh.coords = UniformCoords{{0, 0.5, 1}, {1, 2, 0.25}};
    } else if (kind == 1) {
        RectilinearCoords coords{mesh.elements.lower, {}};
        const Box vertices = vertices_of(mesh.elements, mesh.dimension);
        for (std::size_t axis = 0; axis < 3; ++axis)
            for (std::int64_t i = 0; i < vertices.extent(axis); ++i)
                coords.values[axis].push_back(static_cast<double>(i * i) / 8);
        mesh.coords = coords;
    } else {
        mesh.coords = ExplicitCoords{mesh.name + "_xyz"};
    }
    return mesh;
}

inline Ghosts make_ghosts(Random& random, std::uint8_t dimension) {
    Ghosts ghosts;
    if (chance(random, 0.5))
        for (std::size_t axis = 3 - std::size_t{dimension}; axis < 3; ++axis) {
            ghosts.lower[axis] = static_cast<std::uint16_t>(draw(random, 0, 2));
            ghosts.upper[axis] = static_cast<std::uint16_t>(draw(random, 0, 2));
        }
    return ghosts;
}

inline std::vector<BlockScript> make_blocks(Random& random, const StreamScript& script) {
    std::vector<BlockScript> blocks;
    std::uint64_t id = static_cast<std::uint64_t>(draw(random, 0, 3));
    for (std::size_t m = 0; m < script.meshes.size(); ++m) {
        const MeshScript& mesh = script.meshes[m];
        const bool of_elements = chance(random, 0.5);
        const Box all = of_elements ? mesh.elements : vertices_of(mesh.elements, mesh.dimension);
        for (const Box& owned : cut(random, all, draw(random, 1, 2 * script.writers + 2))) {
            if (chance(random, 0.1))
                continue;
            BlockScript block;
            block.id = id++;
            block.mesh = m;
            block.rank = static_cast<int>(draw(random, 0, script.writers - 1));
            block.association = of_elements ? Association::element : Association::vertex;
            block.owned = owned;
            for (std::size_t f = 0; f < script.fields.size(); ++f)
                if (script.fields[f].mesh == m && chance(random, 0.85) &&
                    !owned_box(script, block, script.fields[f].association).empty())
                    block.arrays.push_back({f, make_ghosts(random, mesh.dimension),
                                            static_cast<PutMode>(draw(random, 0, 2))});
            blocks.push_back(block);
        }
    }
    return blocks;
}

} // namespace detail

inline StreamScript make_stream_script(std::uint64_t seed, int writers) {
    Random random(seed);
    StreamScript script;
    script.seed = seed;
    script.writers = writers;
    for (std::int64_t m = draw(random, 1, 2); m-- > 0;)
        script.meshes.push_back(detail::make_mesh(random, script.meshes.size()));
    for (std::size_t m = 0; m < script.meshes.size(); ++m) {
        if (const auto* coords = std::get_if<ExplicitCoords>(&script.meshes[m].coords))
            script.fields.push_back(
                {coords->field, m, Association::vertex,
                 chance(random, 0.5) ? ScalarType::float32 : ScalarType::float64, 3});
        for (std::int64_t f = draw(random, 1, 3); f-- > 0;)
            script.fields.push_back(
                {"field" + std::to_string(script.fields.size()), m,
                 chance(random, 0.5) ? Association::vertex : Association::element,
                 static_cast<ScalarType>(draw(random, 1, 5)),
                 static_cast<std::uint32_t>(draw(random, 1, 3))});
    }
    std::int64_t index = draw(random, -5, 100);
    for (std::int64_t s = draw(random, 2, 5); s-- > 0;) {
        StepScript step;
        index += draw(random, 1, 10);
        step.index = index;
        step.time = static_cast<double>(index) / 16;
        step.note = chance(random, 0.7) ? "steady" : "step " + std::to_string(index);
        step.blocks = script.steps.empty() || chance(random, 0.5)
                          ? detail::make_blocks(random, script)
                          : script.steps.back().blocks;
        script.steps.push_back(step);
    }
    return script;
}

} // namespace uzushio::staging::suite
