#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/reader_options.hpp"
#include "staging/transport/file/array_reader.hpp"
#include "staging/transport/source.hpp"

namespace uzushio::staging::file {

/// Whether a contact is the folder of stored steps: it is a folder, or is called like one (*.zarr)
/// and is not there yet.
[[nodiscard]] bool leads_to_store(const std::string& contact);

/// Stored steps, in order from the first one that is there: after the run, or while the writer
/// still adds to them. `next` says `ended` once the writer has closed the store and all steps were
/// seen. Of a writer that died nobody tells: there are no more steps, and `next` times out.
///
/// The limits of `fetch` are not kept, since a disk cannot be told to hurry.
class FileSource : public Source {
  public:
    /// Wait for a store in `folder`, and for all ranks to see it; collective. PeerGone if none
    /// appears in time. `group` outlives the source.
    FileSource(std::filesystem::path folder, const parallel::CollectiveGroup& group,
               const ReaderOptions& options);

    [[nodiscard]] Announced next(std::chrono::nanoseconds limit) override;
    void begin(const Announce& step) override;
    void fetch(const Announce& step, std::span<const Fetch> wanted,
               std::chrono::nanoseconds limit) override;
    void end(const Announce& step) override;
    void release(std::uint64_t sequence) override;

  private:
    [[nodiscard]] std::optional<std::uint64_t> find_next(bool thorough);
    [[nodiscard]] Announced announce(std::uint64_t sequence);

    std::filesystem::path store_;
    bool verify_;
    std::string id_;
    std::uint64_t next_ = 0;
    std::filesystem::file_time_type listed_{}; ///< when the list of steps that we know had changed
    std::vector<std::byte> buffer_;
    std::optional<ArrayReader> reader_; ///< of the step that was begun
};

} // namespace uzushio::staging::file
