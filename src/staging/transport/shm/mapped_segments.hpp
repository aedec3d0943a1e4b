#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "staging/wire/messages.hpp"

namespace uzushio::staging::shm {

/// A reader's mappings of shared segments of writers: each mapped once, read-only, and used for
/// many steps. If a place is not accessible (another node or user, an ended process, another file),
/// `map` returns nothing, and the reader requests the values instead.
class MappedSegments {
  public:
    MappedSegments() = default;
    MappedSegments(const MappedSegments&) = delete;
    MappedSegments& operator=(const MappedSegments&) = delete;
    ~MappedSegments();

    /// Return the bytes of an announced segment; nothing if they are not accessible, or the step
    /// was replaced. Valid until `end_step`.
    [[nodiscard]] std::span<const std::byte> map(const SegmentPlace& place);

    /// End the use of a step. Unmaps segments that the writer has released and those that were not
    /// used for many steps. Throws PeerGone if the writer replaced the step while it was in use,
    /// because it considered this reader dead.
    void end_step();

    [[nodiscard]] std::size_t size() const { return mappings_.size(); }

  private:
    struct Mapping {
        const std::byte* memory = nullptr; ///< header first
        SegmentPlace place;                ///< as announced at its last use
        std::uint64_t last_step = 0;       ///< step of the last use
    };

    [[nodiscard]] Mapping* find(const SegmentPlace& place);
    static bool is_intact(const Mapping& mapping, const SegmentPlace& place);
    static const std::byte* open(const SegmentPlace& place);
    static void close(const Mapping& mapping);

    std::unordered_map<std::uint64_t, Mapping> mappings_; ///< by token
    std::uint64_t step_ = 1;
};

} // namespace uzushio::staging::shm
