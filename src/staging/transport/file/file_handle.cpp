#include "staging/transport/file/file_handle.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "staging/require.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging::file {
namespace {

namespace fs = std::filesystem;

// Linux transfers at most 2 GiB in one call.
constexpr std::size_t max_io_bytes = std::size_t{1} << 30;

const char* advice(int error) {
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return " Free space there, or store fewer steps or fields.";
    case EFBIG:
        return " Raise the limit of a file's size (ulimit -f).";
    case EACCES:
    case EPERM:
    case EROFS:
        return " Choose a folder that you may write to, or change its permissions.";
    case EMFILE:
        return " Raise the limit of open files (ulimit -n).";
    default:
        return "";
    }
}

[[noreturn]] void fail(const std::string& what, const fs::path& path, int error) {
    throw StagingError(sentence("Cannot ", what, " ", path, ": ",
                                std::system_category().message(error), ".", advice(error)));
}

template <class Call> auto retried(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR)
        result = call();
    return result;
}

} // namespace

FileHandle FileHandle::create(fs::path path) {
    return {std::move(path), O_RDWR | O_CREAT | O_EXCL, "make"};
}

FileHandle FileHandle::open(fs::path path) { return {std::move(path), O_RDONLY, "open"}; }

FileHandle::FileHandle(fs::path path, int mode, const char* what)
    : descriptor_(retried([&] { return ::open(path.c_str(), mode | O_CLOEXEC, 0666); })),
      path_(std::move(path)) {
    if (descriptor_.get() < 0)
        fail(what);
}

void FileHandle::fail(const char* what) const { file::fail(what, path_, errno); }

void FileHandle::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t done = retried([&] {
            return ::pwrite(descriptor_.get(), bytes.data(), std::min(bytes.size(), max_io_bytes),
                            written_);
        });
        if (done < 0)
            fail("write");
        if (done == 0) { // not known from any system
            errno = EIO;
            fail("write");
        }
        written_ += done;
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

void FileHandle::read(std::span<std::byte> bytes, std::int64_t offset) const {
    while (!bytes.empty()) {
        const ssize_t done = retried([&] {
            return ::pread(descriptor_.get(), bytes.data(), std::min(bytes.size(), max_io_bytes),
                           offset);
        });
        if (done < 0)
            fail("read");
        require(done != 0, "The file ", path_,
                " is shorter than it should be: it was damaged after it was written.");
        offset += done;
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

std::int64_t FileHandle::size() const {
    struct stat status{};
    if (::fstat(descriptor_.get(), &status) != 0)
        fail("read the size of");
    return status.st_size;
}

void FileHandle::begin_sync() const {
    // A hint only: errors appear in `sync` too.
    (void)::sync_file_range(descriptor_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
}

void FileHandle::sync() const {
    if (retried([&] { return ::fsync(descriptor_.get()); }) != 0)
        fail("write to the disk");
}

void FileHandle::sync_file_system() const {
    if (retried([&] { return ::syncfs(descriptor_.get()); }) != 0)
        fail("write to the disk");
}

void FileHandle::close() {
    const int descriptor = descriptor_.release();
    if (descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR)
        fail("close"); // where network file systems report full disks
}

bool make_folder(const fs::path& folder) {
    if (::mkdir(folder.c_str(), 0777) == 0)
        return true;
    if (errno != EEXIST)
        fail("make the folder", folder, errno);
    return false;
}

std::string read_whole(const fs::path& path, std::size_t max_bytes) {
    const FileHandle file = FileHandle::open(path);
    const auto size = static_cast<std::size_t>(file.size());
    require(size <= max_bytes, "The file ", path, " has ", size, " bytes, more than the ",
            max_bytes, " allowed: it was damaged after it was written.");
    std::string text(size, '\0');
    file.read(std::as_writable_bytes(std::span(text)), 0);
    return text;
}

void move(const fs::path& from, const fs::path& to) {
    if (std::rename(from.c_str(), to.c_str()) != 0)
        fail("move " + from.string() + " to", to, errno);
}

} // namespace uzushio::staging::file
