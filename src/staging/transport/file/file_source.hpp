#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/notice.hpp"
#include "staging/reader_options.hpp"
#include "staging/transport/file/array_reader.hpp"
#include "staging/transport/step_source.hpp"

namespace uzushio::staging::file {

/// Return whether a contact is a folder of stored steps: an existing folder, or a name *.zarr that
/// does not exist yet.
[[nodiscard]] bool is_store_contact(const std::string& contact);

/// Source of stored steps, in order from the first existing one, after the run or while the writer
/// adds steps. `next` returns `ended` once all steps were returned and the writer has closed the
/// store, or has ended without closing it, as its lock shows. On a file system without locks a dead
/// writer is not noticed: `next` times out.
///
/// `fetch` ignores its limit, because disk access has no timeout.
class FileSource : public StepSource {
  public:
    /// Wait for a store in `folder` until all ranks see it; collective. Throws PeerGone if none
    /// appears in time. `group` outlives the source.
    FileSource(std::filesystem::path folder, const parallel::CollectiveGroup& group,
               const ReaderOptions& options);

    [[nodiscard]] AnnouncedStep next(std::chrono::nanoseconds limit) override;
    void seek(std::uint64_t sequence) override;
    [[nodiscard]] std::optional<std::vector<StoredStep>> stored_steps() override;
    void begin(const Announce& step) override;
    void fetch(const Announce& step, std::span<const Fetch> wanted,
               std::chrono::nanoseconds limit) override;
    void end(const Announce& step) override;
    void release(std::uint64_t sequence) override;

  private:
    [[nodiscard]] std::optional<std::uint64_t> find_next(bool list_again);
    [[nodiscard]] bool has_dead_writer();
    [[nodiscard]] AnnouncedStep announce(std::uint64_t sequence);

    std::filesystem::path store_;
    bool verify_;
    std::string id_;
    std::uint64_t next_ = 0;
    std::vector<StoredStep> steps_; ///< listed so far
    bool all_steps_ = false;        ///< whether there will be no others
    std::filesystem::file_time_type
        listed_{}; ///< time of the last change of the known list of steps
    WaitNotice waiting_;
    bool end_noticed_ =
        false; ///< whether a notice reported that the writer has not closed the store
    std::vector<std::byte> buffer_;
    std::optional<ArrayReader> reader_; ///< of the current step
};

} // namespace uzushio::staging::file
