#include "staging/transport/file/file_source.hpp"

#include <fcntl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "parallel/wait_hook.hpp"
#include "staging/descriptor.hpp"
#include "staging/notice.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/to_seconds.hpp"
#include "staging/transport/file/documents.hpp"
#include "staging/transport/file/names.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/step_codec.hpp"

namespace uzushio::staging::file {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// A check takes some ten microseconds on a local disk.
constexpr auto check_interval = std::chrono::milliseconds(50);
constexpr std::size_t buffer_bytes = 512 << 10;
constexpr std::size_t max_document_bytes = 1 << 20;
constexpr std::size_t max_step_bytes = 64 << 20; // with the coordinates of rectilinear meshes

bool is_there(const fs::path& path) {
    std::error_code error;
    return fs::exists(path, error);
}

StoreState read_state(const fs::path& store) {
    const fs::path file = store / document;
    return parse_store(read_whole(file, max_document_bytes), file);
}

/// Sleep until the next check; return false at the deadline.
bool sleep(Clock::time_point deadline) {
    const auto now = Clock::now();
    if (now >= deadline)
        return false;
    parallel::run_wait_hooks();
    std::this_thread::sleep_for(std::min<Clock::duration>(check_interval, deadline - now));
    return true;
}

/// Return the time `limit` from now, without overflow.
Clock::time_point after(std::chrono::nanoseconds limit) {
    const auto now = Clock::now();
    return limit > Clock::time_point::max() - now ? Clock::time_point::max() : now + limit;
}

std::vector<std::uint64_t> list_steps(const fs::path& store) {
    std::vector<std::uint64_t> steps;
    std::error_code error;
    for (auto entry = fs::directory_iterator(store / steps_folder, error);
         !error && entry != fs::directory_iterator(); entry.increment(error))
        if (const auto sequence = sequence_of(entry->path().filename().string()))
            steps.push_back(*sequence);
    std::sort(steps.begin(), steps.end());
    return steps;
}

void wait_for_store(const fs::path& store, std::chrono::nanoseconds limit) {
    const auto deadline = after(limit);
    WaitNotice waiting;
    while (!is_there(store / document)) {
        if (waiting.due())
            notice(sentence("There are no stored steps in ", store,
                            " yet. Waiting for the writer for up to ", to_seconds(limit), "."));
        std::error_code error;
        if (const auto status = fs::status(store, error);
            fs::exists(status) && !fs::is_directory(status))
            throw StagingError(
                sentence("Stored steps are in a folder, but ", store, " is not a folder."));
        if (!sleep(deadline))
            throw PeerGone(sentence("There are no stored steps in ", store,
                                    ", and none appeared in time: check the path, and whether the "
                                    "writer runs."));
    }
}

} // namespace

bool is_store_contact(const std::string& contact) {
    fs::path path(contact);
    if (!path.has_filename()) // a trailing slash
        path = path.parent_path();
    std::error_code error;
    return fs::is_directory(path, error) || path.extension() == ".zarr";
}

FileSource::FileSource(fs::path folder, const parallel::CollectiveGroup& group,
                       const ReaderOptions& options)
    : store_(std::move(folder)), verify_(options.verify.value_or(true)), buffer_(buffer_bytes) {
    id_ = group.from_root([&] {
        wait_for_store(store_, options.attach_limit);
        const StoreState state = read_state(store_);
        require(options.stream.empty() || options.stream == state.stream, "The steps stored in ",
                store_, " are of the stream \"", state.stream, "\", not of \"", options.stream,
                "\".");
        return state.id;
    });
    group.run_collectively([&] {
        require(is_there(store_ / document) && read_state(store_).id == id_, "The folder ", store_,
                " that rank 0 reads is not seen ", "by rank ", group.rank(),
                ": it must be on a file system that all nodes share.");
    });
}

std::optional<std::uint64_t> FileSource::find_next(bool list_again) {
    if (is_there(step_path(store_, next_)))
        return next_;
    // Steps may have been removed to free space: find the next existing one.
    const fs::path folder = store_ / steps_folder;
    std::error_code error;
    const auto changed = fs::last_write_time(folder, error);
    if (error || (changed == listed_ && !list_again))
        return std::nullopt;
    listed_ = changed;
    const auto steps = list_steps(store_);
    const auto following = std::lower_bound(steps.begin(), steps.end(), next_);
    return following == steps.end() ? std::nullopt : std::optional(*following);
}

AnnouncedStep FileSource::next(std::chrono::nanoseconds limit) {
    const auto deadline = after(limit);
    do {
        if (const auto sequence = find_next(false))
            return announce(*sequence);
        if (!is_there(store_ / document))
            throw PeerGone(sentence("The stored steps in ", store_, " were removed."));
        const StoreState state = read_state(store_);
        if (state.id != id_)
            throw PeerGone(
                sentence("The stored steps in ", store_,
                         " were overwritten by another run: attach again to read those."));
        if (state.closed || has_dead_writer()) {
            // The last steps may have been stored since the last check.
            if (const auto sequence = find_next(true))
                return announce(*sequence);
            if (!std::exchange(end_noticed_, true) && !read_state(store_).closed)
                notice(sentence("The writer of the steps in ", store_,
                                " has ended without closing them: it failed or was killed. All "
                                "complete steps were read."));
            return {StepStatus::ended, nullptr};
        }
    } while (sleep(deadline));
    return {StepStatus::timeout, nullptr};
}

bool FileSource::has_dead_writer() {
    const Descriptor folder(::open(store_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto unlocked = folder.get() < 0 ? std::nullopt : folder.is_unlocked();
    if (!unlocked && waiting_.due())
        notice(sentence("Waiting for a step in ", store_,
                        ", whose file system has no locks: it is not known whether the writer "
                        "still runs."));
    return unlocked.value_or(false);
}

AnnouncedStep FileSource::announce(std::uint64_t sequence) {
    const fs::path folder = step_path(store_, sequence) / table_folder;
    const auto table = read_table(folder);
    Announce announce{sequence, {}, {}};
    try {
        announce.step = decode_step(table);
    } catch (const StagingError& error) {
        throw StagingError(
            sentence("The table of the step in ", folder, " cannot be used: ", error.what()));
    }
    next_ = sequence + 1;
    return {StepStatus::step,
            std::make_shared<const std::vector<std::byte>>(encode(std::move(announce)))};
}

void FileSource::seek(std::uint64_t sequence) {
    next_ = sequence;
    listed_ = {};
}

std::optional<std::vector<StoredStep>> FileSource::stored_steps() {
    if (all_steps_)
        return steps_;
    const bool closed = read_state(store_).closed;
    std::map<std::uint64_t, StoredStep> known;
    for (const StoredStep& step : steps_)
        known.emplace(step.sequence, step);
    steps_.clear();
    for (const std::uint64_t sequence : list_steps(store_)) {
        const fs::path file = step_path(store_, sequence) / document;
        if (const auto before = known.find(sequence); before != known.end())
            steps_.push_back(before->second);
        else if (is_there(file)) // or it was removed meanwhile
            steps_.push_back(parse_step(read_whole(file, max_step_bytes), file));
    }
    all_steps_ = closed;
    return steps_;
}

void FileSource::begin(const Announce& step) {
    reader_.emplace(step_path(store_, step.sequence), verify_, buffer_);
}

void FileSource::fetch(const Announce& step, std::span<const Fetch> wanted,
                       std::chrono::nanoseconds) {
    if (!reader_)
        begin(step);
    for (const Fetch& fetch : wanted)
        reader_->read(step.step, fetch);
}

void FileSource::end(const Announce&) { reader_.reset(); }

void FileSource::release(std::uint64_t) {} // stored steps remain

} // namespace uzushio::staging::file
