#include "staging/transport/file/file_engine.hpp"

#include <fcntl.h>

#include <chrono>
#include <random>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "staging/require.hpp"
#include "staging/transport/file/names.hpp"
#include "staging/wire/step_codec.hpp"

namespace uzushio::staging::file {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t max_chunk_bytes = std::int64_t{64} << 20;
constexpr std::size_t max_document_bytes = 1 << 20;

std::string random_id() {
    std::random_device random;
    std::string id;
    for (int i = 0; i < 16; ++i)
        id += "0123456789abcdef"[random() & 0xFu];
    return id;
}

/// Return whether the folder is a store. Throws StagingError if it contains anything else.
bool holds_store(const fs::path& folder) {
    std::error_code error;
    const auto status = fs::status(folder, error);
    if (!fs::exists(status))
        return false; // if it is inaccessible, making it fails with the reason
    require(fs::is_directory(status), "Steps are to be stored in ", folder,
            ", but it is a file: choose another folder.");
    const fs::path file = folder / document;
    if (fs::exists(file, error)) {
        (void)parse_store(read_whole(file, max_document_bytes), file);
        return true;
    }
    const auto entries = fs::directory_iterator(folder, error);
    require(!error, "Cannot list the folder ", folder, ": ", error.message(),
            ". Choose a folder that you may use.");
    require(entries == fs::directory_iterator(), "Steps are to be stored in ", folder,
            ", which holds other files: choose another folder.");
    return false;
}

void erase(const fs::path& path) {
    std::error_code error;
    fs::remove_all(path, error);
    require(!error, "Cannot remove ", path, ": ", error.message(), ".");
}

/// Remove the store's document last, so that an interrupted removal still leaves a store.
void remove_store(const fs::path& folder) {
    std::vector<fs::path> ours;
    for (const auto& entry : fs::directory_iterator(folder))
        if (const std::string name = entry.path().filename();
            name == steps_folder || name.starts_with("__"))
            ours.push_back(entry.path());
    for (const auto& path : ours)
        erase(path);
    erase(folder / document);
}

} // namespace

FileEngine::FileEngine(const std::string& stream, const parallel::CollectiveGroup& group,
                       const EngineOptions& options)
    : group_(group),
      store_(options.file.folder.empty() ? fs::path(stream + ".zarr") : options.file.folder),
      state_{random_id(), stream, false, 0}, disk_(options.file.sync) {
    group_.run_on_root([&] { make_store(options.file.overwrite); });
    group_.run_collectively([&] {
        std::error_code error;
        require(fs::exists(store_ / steps_folder, error), "The folder ", store_,
                ", which rank 0 made, is not seen by rank ", group_.rank(),
                ": choose one on a file system that all nodes share.");
    });
}

void FileEngine::make_store(bool overwrite) {
    if (holds_store(store_)) {
        require(lock(store_), "The folder ", store_,
                " holds steps that another process is storing there: stop that, or "
                "choose another folder.");
        require(overwrite, "The folder ", store_,
                " holds stored steps already: choose another one, remove it, or let "
                "it be overwritten (file: {overwrite: true}).");
        remove_store(store_);
    }
    std::error_code error;
    fs::create_directories(store_, error);
    require(!error, "Cannot make the folder ", store_, ": ", error.message(),
            ". Choose a folder that you may write to.");
    (void)lock(store_);
    write_state();
    DiskWriter disk;
    disk.make_folder(store_ / steps_folder);
    disk.write_file(store_ / steps_folder / document, bytes_of(group_document()));
    disk.sync();
    FileHandle::open(store_).sync();
}

bool FileEngine::lock(const fs::path& folder) {
    lock_.emplace(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock_->get() < 0)
        return true;
    // A reader that looks for a living writer holds the lock for a moment.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!lock_->try_lock()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
}

void FileEngine::write_state() const {
    const fs::path draft = store_ / (std::string("__") + document);
    erase(draft);
    FileHandle file = FileHandle::create(draft);
    file.write(bytes_of(store_document(state_)));
    file.sync();
    file.close();
    move(draft, store_ / document);
    FileHandle::open(store_).sync();
}

std::optional<std::uint64_t> FileEngine::publish(LocalStep step) {
    require(!state_.closed, "The stream \"", state_.stream,
            "\" is closed: no step can be published any more.");
    ++counters_.published;
    const fs::path folder = new_step_path(store_, next_);
    try {
        group_.run_on_root([&] {
            erase(folder);
            disk_.make_folder(folder);
        });
        group_.run_collectively([&] { write_part(step, folder); });
        const auto parts = group_.gather(encode_step(step.part));
        group_.run_on_root([&] { finish(parts, folder); });
    } catch (...) {
        disk_.forget();
        if (group_.rank() == 0) {
            std::error_code ignored; // the first error is thrown
            fs::remove_all(folder, ignored);
        }
        throw;
    }
    return next_++;
}

void FileEngine::write_part(LocalStep& step, const fs::path& folder) {
    StepInfo& part = step.part;
    std::set<std::uint32_t> fields;
    std::size_t value = 0;
    std::uint64_t offset = 0;
    for (auto& block : part.blocks) {
        block.rank = static_cast<std::uint32_t>(group_.rank());
        for (auto& array : block.arrays) {
            const ConstArrayView& view = step.values.at(value++);
            const Field& field = part.fields.at(array.field);
            if (fields.insert(array.field).second)
                disk_.make_folder(folder / field_name(field.name));
            const fs::path place = array_path(folder, field.name, block.id);
            require(disk_.make_folder(place), "Block ", block.id, " of field \"", field.name,
                    "\" was put twice: ids of blocks must differ over all ranks.");
            array.layout = view.layout;
            const ArrayForm form = ArrayForm::of(part, block, array);
            array.layout = form.layout();
            array.offset = offset;
            const auto grid = ChunkGrid::cut(form.shape(), form.scalar_bytes, max_chunk_bytes);
            array.checksum = disk_.write_array(place, view, form, grid);
            disk_.write_file(place / document,
                             bytes_of(array_document(part, block, array, form, grid)));
            offset += static_cast<std::uint64_t>(grid.bytes() + 63) / 64 * 64;
        }
    }
    const auto begin = std::chrono::steady_clock::now();
    disk_.sync();
    counters_.seconds_waited +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void FileEngine::finish(const std::vector<std::vector<std::byte>>& parts, const fs::path& folder) {
    std::vector<StepInfo> steps;
    steps.reserve(parts.size());
    for (const auto& part : parts)
        steps.push_back(decode_step(part));
    const StepInfo whole = merge(steps);

    for (const auto& field : whole.fields) {
        const fs::path place = folder / field_name(field.name);
        disk_.make_folder(place); // there may be no block with the field
        disk_.write_file(place / document, bytes_of(field_document(whole, field)));
    }
    const std::vector<std::byte> table = encode_step(whole);
    const auto bytes = static_cast<std::int64_t>(table.size());
    const ArrayForm form{ComponentOrder::interleaved, {1, 1, bytes}, 1, 1};
    disk_.make_folder(folder / table_folder);
    (void)disk_.write_array(folder / table_folder,
                            packed_view(table.data(), form.count, form.components, 1), form,
                            ChunkGrid({bytes}, {bytes}, 1));
    disk_.write_file(folder / table_folder / document, bytes_of(table_document(bytes)));
    disk_.write_file(folder / document, bytes_of(step_document(whole, next_)));
    disk_.make_folder(folder); // changed since rank 0 made it
    disk_.sync();
    move(folder, step_path(store_, next_));
    FileHandle::open(store_ / steps_folder).sync();
}

void FileEngine::close() {
    if (state_.closed)
        return;
    state_.closed = true;
    state_.steps = next_;
    group_.run_on_root([&] { write_state(); });
    lock_.reset();
}

} // namespace uzushio::staging::file
