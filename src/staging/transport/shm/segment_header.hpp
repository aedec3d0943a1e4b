#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace uzushio::staging::shm {

/// The first page of a shared segment; the step's bytes follow it. Written by the writer alone.
struct SegmentHeader {
    static constexpr std::size_t bytes = 4096;

    std::uint64_t token = 0; ///< random: it is the segment that was announced
    std::uint64_t bytes_behind = 0;
    /// Counts the steps that the segment was filled with, so that a reader can tell whether the one
    /// that it looked at was there to the end.
    std::atomic<std::uint32_t> use{1};
    /// The writer has let go of it: there will be no further step, and readers should let go too.
    std::atomic<std::uint32_t> given_up{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(SegmentHeader) <= SegmentHeader::bytes);

/// SegmentPlace::handle: file descriptor and use.
[[nodiscard]] constexpr std::uint64_t pack_handle(std::uint32_t descriptor, std::uint32_t use) {
    return std::uint64_t{use} << 32 | descriptor;
}
[[nodiscard]] constexpr std::uint32_t descriptor_of(std::uint64_t handle) {
    return static_cast<std::uint32_t>(handle);
}
[[nodiscard]] constexpr std::uint32_t use_of(std::uint64_t handle) {
    return static_cast<std::uint32_t>(handle >> 32);
}

} // namespace uzushio::staging::shm
