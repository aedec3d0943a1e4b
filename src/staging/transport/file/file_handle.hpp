#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "staging/descriptor.hpp"

namespace uzushio::staging::file {

/// Open file or folder. The destructor closes it, and ignores errors; members throw StagingError
/// with its name and the cause.
class FileHandle {
  public:
    /// Make a new file; throws if it exists.
    [[nodiscard]] static FileHandle create(std::filesystem::path path);
    [[nodiscard]] static FileHandle open(std::filesystem::path path); ///< for reading

    void write(std::span<const std::byte> bytes); ///< all of them, after the bytes written before
    /// Read all of `bytes`, from `offset` on.
    void read(std::span<std::byte> bytes, std::int64_t offset) const;
    [[nodiscard]] std::int64_t size() const;
    /// Start writing the file's cached bytes to the disk.
    void begin_sync() const;
    void sync() const;             ///< wait until they are on the disk
    void sync_file_system() const; ///< the same for all bytes written to its file system
    void close();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    FileHandle(std::filesystem::path path, int mode, const char* what);
    [[noreturn]] void fail(const char* what) const;

    Descriptor descriptor_;
    std::filesystem::path path_;
    std::int64_t written_ = 0;
};

/// Make a folder; return whether it is new.
bool make_folder(const std::filesystem::path& folder);
/// Read a whole small file. Throws StagingError if it exceeds `max_bytes` bytes.
[[nodiscard]] std::string read_whole(const std::filesystem::path& file, std::size_t max_bytes);
/// Rename a file or a folder atomically. A file at `to` is replaced.
void move(const std::filesystem::path& from, const std::filesystem::path& to);

[[nodiscard]] inline std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

} // namespace uzushio::staging::file
