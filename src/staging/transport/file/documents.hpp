#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "staging/datamodel/step_info.hpp"
#include "staging/transport/file/array_form.hpp"
#include "staging/transport/file/chunk_grid.hpp"
#include "staging/transport/step_source.hpp"

/// The zarr.json documents of a store: Zarr v3, with readable attributes.
namespace uzushio::staging::file {

/// Content of the document of the store itself.
struct StoreState {
    std::string id;     ///< random: another id means that the store was overwritten
    std::string stream; ///< name of the writer's stream
    bool closed = false;
    std::uint64_t steps = 0; ///< number of stored steps, once closed
};

[[nodiscard]] std::string store_document(const StoreState& state);
/// Throws StagingError with the name of `file` if the document is invalid.
[[nodiscard]] StoreState parse_store(const std::string& text, const std::filesystem::path& file);

[[nodiscard]] std::string group_document(); ///< without attributes
[[nodiscard]] std::string step_document(const StepInfo& step, std::uint64_t sequence);
[[nodiscard]] StoredStep parse_step(const std::string& text, const std::filesystem::path& file);
[[nodiscard]] std::string field_document(const StepInfo& step, const Field& field);
[[nodiscard]] std::string array_document(const StepInfo& step, const Block& block,
                                         const StoredArray& array, const ArrayForm& form,
                                         const ChunkGrid& grid);
[[nodiscard]] std::string table_document(std::int64_t bytes);

/// Return the chunks of an array of this form. Throws StagingError with the name of `file` if the
/// document describes another array.
[[nodiscard]] ChunkGrid parse_array(const std::string& text, const ArrayForm& form, ScalarType type,
                                    const std::filesystem::path& file);
/// Return the bytes of an encoded table.
[[nodiscard]] std::int64_t parse_table(const std::string& text, const std::filesystem::path& file);

} // namespace uzushio::staging::file
