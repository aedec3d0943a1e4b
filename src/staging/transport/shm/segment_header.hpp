#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace uzushio::staging::shm {

/// First page of a shared segment, before the step's bytes. Written by the writer only.
struct SegmentHeader {
    static constexpr std::size_t bytes = 4096;

    std::uint64_t token = 0; ///< random: identifies the announced segment
    std::uint64_t payload_bytes = 0;
    /// Number of times the segment was filled; a reader compares it to detect that its step was
    /// replaced.
    std::atomic<std::uint32_t> generation{1};
    /// The writer has released the segment: no further step follows, and readers should unmap it.
    std::atomic<std::uint32_t> released{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(SegmentHeader) <= SegmentHeader::bytes);

/// SegmentPlace::handle: file descriptor and generation.
[[nodiscard]] constexpr std::uint64_t pack_handle(std::uint32_t descriptor,
                                                  std::uint32_t generation) {
    return std::uint64_t{generation} << 32 | descriptor;
}
[[nodiscard]] constexpr std::uint32_t descriptor_of(std::uint64_t handle) {
    return static_cast<std::uint32_t>(handle);
}
[[nodiscard]] constexpr std::uint32_t generation_of(std::uint64_t handle) {
    return static_cast<std::uint32_t>(handle >> 32);
}

} // namespace uzushio::staging::shm
