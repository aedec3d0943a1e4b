#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "staging/wire/messages.hpp"

namespace uzushio::staging::shm {

/// A reader's windows on the shared segments of writers: each mapped once, read-only, and used for
/// many steps. Whatever is wrong with a place (another node or user, a process that is gone,
/// another file meanwhile), there is just nothing to be seen, and its values are to be asked for in
/// another way.
class SegmentMap {
  public:
    SegmentMap() = default;
    SegmentMap(const SegmentMap&) = delete;
    SegmentMap& operator=(const SegmentMap&) = delete;
    ~SegmentMap();

    /// The bytes of a segment that a step announced; nothing if they cannot be looked at, or the
    /// step is there no more. Valid until `turn`.
    [[nodiscard]] std::span<const std::byte> map(const SegmentPlace& place);

    /// Whether what was seen at a place, which has been mapped, was the announced step to the end.
    [[nodiscard]] bool intact(const SegmentPlace& place) const;

    /// A step is done with. Lets go of segments that the writer has let go, and of those that were
    /// not mapped for many steps, so that no memory is kept for nothing.
    void turn();

    [[nodiscard]] std::size_t size() const { return windows_.size(); }

  private:
    struct Window {
        const std::byte* memory = nullptr; ///< header first
        SegmentPlace place;                ///< as it was announced when it was mapped
        std::uint64_t last_turn = 0;       ///< in which it was wanted
    };

    [[nodiscard]] const Window* find(const SegmentPlace& place) const;
    static const std::byte* open(const SegmentPlace& place);
    static void close(const Window& window);

    std::unordered_map<std::uint64_t, Window> windows_; ///< by token
    std::uint64_t turn_ = 0;
};

} // namespace uzushio::staging::shm
