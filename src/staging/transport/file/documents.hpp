#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "staging/datamodel/step_info.hpp"
#include "staging/transport/file/array_form.hpp"
#include "staging/transport/file/chunk_grid.hpp"

/// The zarr.json of everything in a store: Zarr v3's, with attributes that people can read too.
namespace uzushio::staging::file {

/// What the document of the store itself says.
struct StoreState {
    std::string id;     ///< random: another one means that the store was written anew
    std::string stream; ///< name that the writer opened
    bool closed = false;
    std::uint64_t steps = 0; ///< once it is closed: as many were stored
};

[[nodiscard]] std::string store_document(const StoreState& state);
/// Throws StagingError that names `file` unless it is such a document.
[[nodiscard]] StoreState parse_store(const std::string& text, const std::filesystem::path& file);

[[nodiscard]] std::string group_document(); ///< without attributes
[[nodiscard]] std::string step_document(const StepInfo& step, std::uint64_t sequence);
[[nodiscard]] std::string field_document(const StepInfo& step, const Field& field);
[[nodiscard]] std::string array_document(const StepInfo& step, const Block& block,
                                         const StoredArray& array, const ArrayForm& form,
                                         const ChunkGrid& grid);
[[nodiscard]] std::string table_document(std::int64_t bytes);

/// How an array of this form is cut into chunks. Throws StagingError that names `file` if the
/// document is not that of such an array.
[[nodiscard]] ChunkGrid parse_array(const std::string& text, const ArrayForm& form, ScalarType type,
                                    const std::filesystem::path& file);
/// Bytes of an encoded table.
[[nodiscard]] std::int64_t parse_table(const std::string& text, const std::filesystem::path& file);

} // namespace uzushio::staging::file
