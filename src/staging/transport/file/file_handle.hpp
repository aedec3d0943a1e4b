#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace uzushio::staging::file {

/// An open file or folder. Members throw StagingError that names it and says why.
class FileHandle {
  public:
    /// Make a file that is not there yet.
    [[nodiscard]] static FileHandle create(std::filesystem::path path);
    [[nodiscard]] static FileHandle open(std::filesystem::path path); ///< to read it
    FileHandle(FileHandle&& other) noexcept;
    FileHandle& operator=(FileHandle&& other) noexcept;
    ~FileHandle(); ///< closes, without a look at what that says

    void write(std::span<const std::byte> bytes); ///< all of them, behind what was written
    /// All of `bytes`, from `offset` on.
    void read(std::span<std::byte> bytes, std::int64_t offset) const;
    [[nodiscard]] std::int64_t size() const;
    /// Let the system begin to write to the disk what it has of the file.
    void begin_sync() const;
    void sync() const; ///< wait until it is on the disk
    void close();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    FileHandle(int descriptor, std::filesystem::path path)
        : descriptor_(descriptor), path_(std::move(path)) {}
    [[noreturn]] void fail(const char* what) const;

    int descriptor_ = -1;
    std::filesystem::path path_;
    std::int64_t written_ = 0;
};

/// Make a folder; returns whether it was not there yet.
bool make_folder(const std::filesystem::path& folder);
/// Everything that was ever written to the file system that holds `path` is on the disk after it.
void sync_file_system(const std::filesystem::path& path);
/// A whole small file. Throws StagingError if it exceeds `most` bytes.
[[nodiscard]] std::vector<std::byte> read_whole(const std::filesystem::path& file,
                                                std::size_t most);
/// Move a file or a folder in one step. What is at `to`, if anything, is a file and is replaced.
void move(const std::filesystem::path& from, const std::filesystem::path& to);

[[nodiscard]] inline std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

} // namespace uzushio::staging::file
