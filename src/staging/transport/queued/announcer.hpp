#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "staging/datamodel/step_info.hpp"
#include "staging/queue/reader_session.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::queued {

/// Makes the announces of a stream's steps. The table of blocks, which seldom changes, is encoded
/// when it does; what differs from step to step is put before it.
class Announcer {
  public:
    /// The table from now on: a step without index, time and attributes, as `merge` made it.
    void set_table(StepInfo table);
    /// The checksums of all arrays, block by block; or none.
    void set_checksums(std::span<const std::uint32_t> checksums);

    /// The bytes of an Announce message. `head` has index, time and attributes alone. Throws
    /// StagingError if they are more than a reader takes.
    [[nodiscard]] std::shared_ptr<Announcement> announce(std::uint64_t sequence,
                                                         const std::vector<SegmentPlace>& places,
                                                         const StepInfo& head) const;

  private:
    StepInfo table_;
    std::vector<std::byte> encoded_; ///< table, from the coordsets on
};

} // namespace uzushio::staging::queued
