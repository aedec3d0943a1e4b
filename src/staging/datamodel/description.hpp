#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "staging/datamodel/ghosts.hpp"
#include "staging/datamodel/step_info.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging {

/// What one rank of a solver has told about its meshes, fields and blocks, and the values of the
/// step that it is about to publish. Each member throws StagingError, and changes nothing, where
/// what it is told does not fit what it knows.
class Description {
  public:
    explicit Description(std::uint32_t rank) : rank_(rank) {}

    void attribute(std::string name, std::variant<std::int64_t, double, std::string> value);

    /// A mesh with its coordset of the same name, anew if it is known already.
    void mesh(std::string name, const Box& elements, std::uint8_t dimension,
              std::variant<UniformCoords, RectilinearCoords, ExplicitCoords> coords);
    void field(std::string name, std::string_view mesh, Association association, ScalarType type,
               std::uint32_t components, std::vector<Attribute> attributes);
    void block(std::uint64_t id, std::string_view mesh, const Box& owned, Association association);
    void remove_block(std::uint64_t id);

    /// What a field has on a block, without memory: the shape that `put` expects.
    [[nodiscard]] ConstArrayView shape(std::string_view field, std::uint64_t block,
                                       const Ghosts& ghosts) const;
    /// `name` as in sentences: of put or buffer, which both give values to a block.
    void put(std::string_view field, std::uint64_t block, const ConstArrayView& values,
             const Ghosts& ghosts);
    /// Throw unless `put` would take values of this shape.
    void require_free(std::string_view field, std::uint64_t block) const;

    /// The step as it stands: blocks in order of id, those without values left out; arrays of a
    /// block in the order in which fields were described. So an unchanged description gives an
    /// unchanged table.
    [[nodiscard]] LocalStep step(std::int64_t index, double time) const;
    /// Forget the values; what is described stays.
    void clear();

  private:
    struct Put {
        ConstArrayView values;
        Ghosts ghosts;
    };
    struct Held {
        Block block;
        std::map<std::uint32_t, Put> puts; ///< by field
    };
    [[nodiscard]] std::uint32_t mesh_of(std::string_view name) const;
    [[nodiscard]] std::uint32_t field_of(std::string_view name) const;
    [[nodiscard]] const Held& block_of(std::uint64_t id) const;
    void require_unused(bool used, const std::string& what) const;
    [[nodiscard]] bool uses_mesh(std::uint32_t mesh) const;
    [[nodiscard]] bool uses_field(std::uint32_t field) const;

    std::uint32_t rank_;
    StepInfo known_; ///< all but blocks
    std::map<std::uint64_t, Held> blocks_;
};

} // namespace uzushio::staging
