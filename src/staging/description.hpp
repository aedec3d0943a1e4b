#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "staging/datamodel/ghosts.hpp"
#include "staging/datamodel/step_info.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging {

/// One rank's description of meshes, fields and blocks, and the values of the open step. Each
/// member throws StagingError, and changes nothing, if its arguments are inconsistent with the
/// description.
class Description {
  public:
    explicit Description(std::uint32_t rank) : rank_(rank) {}

    void attribute(std::string name, std::variant<std::int64_t, double, std::string> value);

    /// Describe a mesh and its coordset of the same name; replaces an earlier description.
    void mesh(std::string name, const Box& elements, std::uint8_t dimension,
              std::variant<UniformCoords, RectilinearCoords, ExplicitCoords> coords);
    void field(std::string name, std::string_view mesh, Association association, ScalarType type,
               std::uint32_t components, std::vector<Attribute> attributes);
    void block(std::uint64_t id, std::string_view mesh, const Box& owned, Association association);
    void remove_block(std::uint64_t id);

    /// Return the shape that `put` expects for a field on a block, without memory.
    [[nodiscard]] ConstArrayView shape(std::string_view field, std::uint64_t block,
                                       const Ghosts& ghosts) const;
    void put(std::string_view field, std::uint64_t block, const ConstArrayView& values,
             const Ghosts& ghosts);
    /// Throw if the field has values on the block in this step already.
    void require_no_values(std::string_view field, std::uint64_t block) const;

    /// Return the step: blocks with values in order of id, and their arrays in the order in which
    /// the fields were described. An unchanged description gives an unchanged table.
    [[nodiscard]] LocalStep step(std::int64_t index, double time) const;
    /// Return whether the open step has values.
    [[nodiscard]] bool has_values() const { return arrays_ > 0; }
    /// Return whether a field is described.
    [[nodiscard]] bool has_fields() const { return !described_.fields.empty(); }
    /// Return the minimum bytes of this rank's part of the step's table, with an array of each
    /// block.
    [[nodiscard]] std::size_t min_table_bytes() const;
    /// Remove the values; the description remains.
    void clear();

  private:
    struct FieldValues {
        ConstArrayView values;
        Ghosts ghosts;
    };
    struct DescribedBlock {
        Block block;
        std::map<std::uint32_t, FieldValues> values; ///< by field
    };
    [[nodiscard]] std::uint32_t mesh_of(std::string_view name) const;
    [[nodiscard]] std::uint32_t field_of(std::string_view name) const;
    [[nodiscard]] const DescribedBlock& block_of(std::uint64_t id) const;
    void require_unused(bool used, const std::string& what) const;
    [[nodiscard]] bool uses_mesh(std::uint32_t mesh) const;
    [[nodiscard]] bool uses_field(std::uint32_t field) const;

    std::uint32_t rank_;
    StepInfo described_;     ///< all but blocks
    std::size_t arrays_ = 0; ///< with values in the open step
    std::map<std::uint64_t, DescribedBlock> blocks_;
};

} // namespace uzushio::staging
