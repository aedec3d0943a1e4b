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

/// Encoder of a stream's Announce messages. The table of blocks is encoded once and reused until it
/// changes; index, time and attributes are encoded for each step.
class Announcer {
  public:
    /// Set the table: a step without index, time and attributes, as `merge` returns it.
    void set_table(StepInfo table);
    /// Set the checksums of all arrays, block by block; or none.
    void set_checksums(std::span<const std::uint32_t> checksums);

    /// Return the bytes of an Announce message. `head` has index, time and attributes only. Throws
    /// StagingError if they exceed the message limit of readers.
    [[nodiscard]] std::shared_ptr<EncodedAnnounce> announce(std::uint64_t sequence,
                                                            const std::vector<SegmentPlace>& places,
                                                            const StepInfo& head) const;

  private:
    StepInfo table_;
    std::vector<std::byte> encoded_; ///< table without its head
};

} // namespace uzushio::staging::queued
