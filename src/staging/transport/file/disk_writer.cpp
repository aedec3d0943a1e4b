#include "staging/transport/file/disk_writer.hpp"

#include <algorithm>
#include <array>

#include "staging/transport/file/packed_stream.hpp"
#include "staging/wire/crc32c.hpp"
#include "staging/wire/encoder.hpp"

namespace uzushio::staging::file {
namespace {

// Small enough to stay in the processor's cache between checksum and write.
constexpr std::size_t buffer_bytes = 512 << 10;
// With more files, one sync of the whole file system is faster than one for each file.
constexpr std::size_t max_open_files = 128;

} // namespace

DiskWriter::DiskWriter(bool wait) : wait_(wait), buffer_(buffer_bytes) {}

std::uint32_t DiskWriter::write_array(const std::filesystem::path& folder,
                                      const ConstArrayView& view, const ArrayForm& form,
                                      const ChunkGrid& grid) {
    PackedStream stream(view, form.order, buffer_);
    std::uint32_t all = 0;
    for (std::int64_t offset = 0; offset < grid.bytes();) {
        const ChunkPlace place = grid.place(offset);
        FileHandle file = FileHandle::create(folder / chunk_name(place.chunk));
        std::uint32_t sum = 0;
        for (std::int64_t left = place.bytes; left > 0;) {
            const auto bytes = stream.next(std::min(left, static_cast<std::int64_t>(buffer_bytes)));
            sum = crc32c(bytes, sum);
            file.write(bytes);
            left -= std::ssize(bytes);
        }
        all = crc32c_combine(all, sum, static_cast<std::uint64_t>(place.bytes));
        for (std::int64_t rest = grid.chunk_bytes() - place.bytes; rest > 0;) {
            static constexpr std::array<std::byte, 16 << 10> zeros{};
            const auto bytes =
                std::span(zeros).first(std::min(zeros.size(), static_cast<std::size_t>(rest)));
            sum = crc32c(bytes, sum);
            file.write(bytes);
            rest -= std::ssize(bytes);
        }
        Encoder encoded_sum;
        encoded_sum.number(sum);
        file.write(encoded_sum.bytes());
        if (wait_)
            file.begin_sync();
        track(std::move(file));
        offset += place.bytes;
    }
    return all;
}

void DiskWriter::write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    FileHandle file = FileHandle::create(path);
    file.write(bytes);
    track(std::move(file));
}

bool DiskWriter::make_folder(const std::filesystem::path& folder) {
    const bool made = file::make_folder(folder);
    if (!sync_all_)
        folders_.push_back(folder);
    return made;
}

void DiskWriter::track(FileHandle file) {
    last_path_ = file.path();
    sync_all_ = sync_all_ || open_.size() == max_open_files;
    if (sync_all_ || !wait_) {
        file.close();
        return;
    }
    open_.push_back(std::move(file));
}

void DiskWriter::sync() {
    if (!wait_)
        return forget();
    if (sync_all_)
        FileHandle::open(last_path_).sync_file_system();
    for (auto& file : open_) {
        if (!sync_all_)
            file.sync();
        file.close();
    }
    if (!sync_all_)
        for (const auto& folder : folders_)
            FileHandle::open(folder).sync();
    forget();
}

void DiskWriter::forget() {
    open_.clear();
    folders_.clear();
    sync_all_ = false;
}

} // namespace uzushio::staging::file
