#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "parallel/collective_group.hpp"
#include "staging/descriptor.hpp"
#include "staging/engine_options.hpp"
#include "staging/transport/file/disk_writer.hpp"
#include "staging/transport/file/documents.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging::file {

/// Engine that stores steps in a Zarr v3 store (layout: names.hpp), for readers during the run and
/// after it, and for zarr-python. Every rank writes its own blocks, each array as it is published.
/// No policy drops steps, and the writer does not wait for readers.
///
/// A step appears by one rename, once all of it is on the disk. If it cannot be stored, `publish`
/// throws on all ranks, its files are removed, and the next one may be tried. Counters:
/// `seconds_waited` is the time in which this rank waited for the disk; readers are not counted.
class FileEngine : public WriterEngine {
  public:
    /// Make the store in the configured folder; collective. Throws StagingError if a store exists
    /// and must not be overwritten, or another process writes it, or if the folder contains
    /// anything else. `group` outlives the engine.
    FileEngine(const std::string& stream, const parallel::CollectiveGroup& group,
               const EngineOptions& options);

    std::optional<std::uint64_t> publish(LocalStep step) override;
    void close() override; ///< marks the end of the stream for readers
    [[nodiscard]] QueueCounters counters() const override { return counters_; }

  private:
    void make_store(bool overwrite);
    /// Lock the folder for the lifetime of the engine; false if another process holds the lock.
    [[nodiscard]] bool lock(const std::filesystem::path& folder);
    void write_state() const;
    void write_part(LocalStep& step, const std::filesystem::path& folder);
    void finish(const std::vector<std::vector<std::byte>>& parts,
                const std::filesystem::path& folder);

    const parallel::CollectiveGroup& group_;
    std::filesystem::path store_;
    StoreState state_;
    std::optional<Descriptor> lock_; ///< on rank 0
    DiskWriter disk_;
    std::uint64_t next_ = 0;
    QueueCounters counters_;
};

} // namespace uzushio::staging::file
