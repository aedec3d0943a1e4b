#include "staging/transport/file/array_reader.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "staging/datamodel/run_cursor.hpp"
#include "staging/sentence.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/file/documents.hpp"
#include "staging/transport/file/names.hpp"
#include "staging/wire/crc32c.hpp"
#include "staging/wire/decoder.hpp"

namespace uzushio::staging::file {
namespace {

constexpr std::int64_t sum_bytes = 4;
constexpr std::int64_t long_run = 32 << 10;  ///< worth its own system call
constexpr std::int64_t small_gap = 16 << 10; ///< cheaper to read than to skip
constexpr std::size_t max_document_bytes = 16 << 20;

std::uint32_t decode_sum(std::span<const std::byte> bytes) {
    std::uint32_t sum = 0;
    Decoder(bytes, DecodeLimits{}).number(sum);
    return sum;
}

[[noreturn]] void throw_damaged(const std::filesystem::path& file) {
    throw StagingError(
        sentence("The checksum of ", file,
                 " is wrong: the file was damaged after it was written. Restore a copy; "
                 "or read it without verification (verify=False, --no-verify)."));
}

void check_size(const FileHandle& file, std::int64_t values) {
    if (const std::int64_t size = file.size(); size != values + sum_bytes)
        throw StagingError(sentence("The file ", file.path(), " has ", size,
                                    " bytes and should have ", values + sum_bytes,
                                    ": it was damaged after it was written."));
}

/// Copies parts of one chunk file into the runs of the destination array.
class Scatter {
  public:
    Scatter(const ArrayView& to, ComponentOrder order, std::span<std::byte> buffer)
        : to_(to, order), buffer_(buffer) {}

    /// Read `bytes` contiguous bytes of the file. With `sum`, continue their CRC32C.
    void read_run(const FileHandle& file, std::int64_t offset, std::int64_t bytes,
                  std::uint32_t* sum = nullptr) {
        const bool direct = to_.run_bytes() >= long_run;
        // Checksums are computed while the bytes are in the processor's cache.
        const std::int64_t max_bytes = std::ssize(buffer_);
        while (bytes > 0) {
            const std::int64_t step = std::min(max_bytes, bytes);
            const auto part =
                direct ? to_.next(step) : buffer_.first(static_cast<std::size_t>(step));
            file.read(part, offset);
            if (sum != nullptr)
                *sum = crc32c(part, *sum);
            if (!direct)
                unpack(part, to_);
            offset += std::ssize(part);
            bytes -= std::ssize(part);
        }
    }

    /// Read short runs near each other in one call; the gaps between them are read too, and
    /// discarded.
    void read_runs(const FileHandle& file, std::span<const ByteRun> runs) {
        const std::int64_t begin = runs.front().offset;
        const auto all =
            buffer_.first(static_cast<std::size_t>(runs.back().offset + runs.back().bytes - begin));
        file.read(all, begin);
        for (const ByteRun& run : runs)
            unpack(all.subspan(static_cast<std::size_t>(run.offset - begin),
                               static_cast<std::size_t>(run.bytes)),
                   to_);
    }

  private:
    RunCursor<std::byte> to_;
    std::span<std::byte> buffer_;
};

} // namespace

void ArrayReader::read(const StepInfo& step, const Fetch& fetch) {
    const PieceRequest& request = fetch.request;
    const Block& block = step.blocks.at(request.block);
    const StoredArray& array = block.arrays.at(request.array);
    const ArrayForm form = ArrayForm::of(step, block, array);
    const auto folder = array_path(folder_, step.fields[array.field].name, block.id);
    const ChunkGrid& grid = grid_of(step, request, form, folder);

    const ArrayLayout layout = form.layout();
    std::int64_t first = request.first_component * layout.component_stride;
    for (std::size_t axis = 0; axis < 3; ++axis)
        first += request.source.lower[axis] * layout.strides[axis];
    RunIterator walk(request.source.extents(), layout, request.components, form.scalar_bytes,
                     form.order);
    Scatter scatter(fetch.to, form.order, buffer_);

    std::vector<ByteRun> runs;
    ByteRun run = walk.next();
    while (run.bytes > 0) {
        const ChunkPlace place = grid.place(first + run.offset);
        const auto path = folder / chunk_name(place.chunk);
        const FileHandle file = FileHandle::open(path);
        check_size(file, grid.chunk_bytes());
        const bool unknown = verify_ && !verified_.contains(path);
        // A wholly requested chunk is read and verified in one pass.
        if (unknown && place.offset == 0 && run.bytes >= place.bytes) {
            std::uint32_t sum = 0;
            scatter.read_run(file, 0, place.bytes, &sum);
            check_sum(file, grid, sum, place.bytes);
            run = {run.offset + place.bytes, run.bytes - place.bytes};
            if (run.bytes == 0)
                run = walk.next();
            continue;
        }
        if (unknown)
            check_sum(file, grid, 0, 0);
        // Shift from offsets in the array to those in the chunk's file.
        const std::int64_t shift = place.offset - run.offset;
        const std::int64_t end = place.offset + place.bytes;
        while (run.bytes > 0 && run.offset + shift < end) {
            const auto take = [&] {
                const ByteRun part{run.offset + shift,
                                   std::min(run.bytes, end - run.offset - shift)};
                run = {run.offset + part.bytes, run.bytes - part.bytes};
                if (run.bytes == 0)
                    run = walk.next();
                return part;
            };
            const ByteRun part = take();
            if (part.bytes >= long_run) {
                scatter.read_run(file, part.offset, part.bytes);
                continue;
            }
            runs.assign(1, part);
            std::int64_t at = part.offset + part.bytes;
            const auto near = [&] {
                const std::int64_t next = run.offset + shift;
                return run.bytes > 0 && next < end && next - at <= small_gap &&
                       next + std::min(run.bytes, end - next) - part.offset <= std::ssize(buffer_);
            };
            while (near()) {
                runs.push_back(take());
                at = runs.back().offset + runs.back().bytes;
            }
            scatter.read_runs(file, runs);
        }
    }
}

const ChunkGrid& ArrayReader::grid_of(const StepInfo& step, const PieceRequest& request,
                                      const ArrayForm& form, const std::filesystem::path& folder) {
    const std::pair key(request.block, request.array);
    if (const auto known = grids_.find(key); known != grids_.end())
        return known->second;
    const StoredArray& array = step.blocks[request.block].arrays[request.array];
    const auto file = folder / document;
    return grids_
        .emplace(key, parse_array(read_whole(file, max_document_bytes), form,
                                  step.fields[array.field].type, file))
        .first->second;
}

void ArrayReader::check_sum(const FileHandle& file, const ChunkGrid& grid, std::uint32_t sum,
                            std::int64_t summed) {
    for (std::int64_t offset = summed; offset < grid.chunk_bytes();) {
        const auto part = buffer_.first(
            std::min(buffer_.size(), static_cast<std::size_t>(grid.chunk_bytes() - offset)));
        file.read(part, offset);
        sum = crc32c(part, sum);
        offset += std::ssize(part);
    }
    std::array<std::byte, sum_bytes> stored{};
    file.read(stored, grid.chunk_bytes());
    if (decode_sum(stored) != sum)
        throw_damaged(file.path());
    verified_.insert(file.path());
}

std::vector<std::byte> read_table(const std::filesystem::path& folder) {
    const auto description = folder / document;
    const std::int64_t bytes =
        parse_table(read_whole(description, max_document_bytes), description);
    const FileHandle file = FileHandle::open(folder / chunk_name({0}));
    check_size(file, bytes); // before memory is allocated
    std::vector<std::byte> table(static_cast<std::size_t>(bytes + sum_bytes));
    file.read(table, 0);
    const std::uint32_t stored = decode_sum(std::span(table).last(sum_bytes));
    table.resize(static_cast<std::size_t>(bytes));
    if (crc32c(table) != stored)
        throw_damaged(file.path());
    return table;
}

} // namespace uzushio::staging::file
