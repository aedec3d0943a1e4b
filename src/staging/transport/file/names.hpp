#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

/// Names inside a store. Every folder and array has its `document`, as in Zarr v3.
///
///     <store>/zarr.json                                state of the store
///     <store>/steps/0000000042/                        sequence number of the step
///     <store>/steps/0000000042/table/                  the step's table, encoded
///     <store>/steps/0000000042/<field>/<block id>/     an array of a block
///     <store>/__new-0000000043/                        a step that is being written
namespace uzushio::staging::file {

inline constexpr const char* document = "zarr.json";
inline constexpr const char* steps_folder = "steps";
inline constexpr const char* table_folder = "table";

/// Return the step's number with leading zeros, so that names sort as numbers.
[[nodiscard]] std::string step_name(std::uint64_t sequence);
/// Return the sequence number of a step's name; nothing if the name has another form.
[[nodiscard]] std::optional<std::uint64_t> sequence_of(std::string_view step_name);

/// Return a field's folder: its name, with special characters written as %XX.
[[nodiscard]] std::string field_name(std::string_view field);

[[nodiscard]] std::filesystem::path step_path(const std::filesystem::path& store,
                                              std::uint64_t sequence);
[[nodiscard]] std::filesystem::path new_step_path(const std::filesystem::path& store,
                                                  std::uint64_t sequence);
[[nodiscard]] std::filesystem::path array_path(const std::filesystem::path& step,
                                               std::string_view field, std::uint64_t block);

} // namespace uzushio::staging::file
