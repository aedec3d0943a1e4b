#include "staging/transport/shm/mapped_segments.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "staging/staging_error.hpp"
#include "staging/transport/shm/segment_header.hpp"

namespace uzushio::staging::shm {
namespace {

constexpr std::uint64_t max_unused_steps = 64; ///< deeper than most queues; mapping again is cheap

const SegmentHeader& header_of(const std::byte* memory) {
    return *std::launder(reinterpret_cast<const SegmentHeader*>(memory));
}

/// Return whether a link in /proc leads to a memfd of this program. Called before the file is
/// opened, because opening some files blocks or has side effects.
bool is_segment_link(const std::string& link) {
    constexpr std::string_view name = "/memfd:uzushio";
    std::array<char, 64> target{};
    const ssize_t length = readlink(link.c_str(), target.data(), target.size());
    return length > 0 &&
           std::string_view(target.data(), static_cast<std::size_t>(length)).starts_with(name);
}

/// Return whether the file has this size and is sealed against shrinking.
bool is_whole(int file, std::size_t size) {
    struct stat status{};
    const int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(file, &status) == 0 &&
           static_cast<std::size_t>(status.st_size) == size;
}

} // namespace

MappedSegments::~MappedSegments() {
    for (const auto& [token, mapping] : mappings_)
        close(mapping);
}

std::span<const std::byte> MappedSegments::map(const SegmentPlace& place) {
    Mapping* mapping = find(place);
    if (mapping == nullptr) {
        const std::byte* const memory = open(place);
        if (memory == nullptr)
            return {};
        const auto [old, is_new] = mappings_.try_emplace(place.token);
        if (!is_new) // the same number by chance, or a file descriptor that was used again
            close(old->second);
        mapping = &old->second;
        *mapping = {memory, place, step_ - 1};
    }
    if (!is_intact(*mapping, place))
        return {};
    mapping->place = place;
    mapping->last_step = step_;
    return {mapping->memory + SegmentHeader::bytes, place.bytes};
}

void MappedSegments::end_step() {
    bool intact = true;
    std::erase_if(mappings_, [&](const auto& item) {
        const Mapping& mapping = item.second;
        intact = intact && (mapping.last_step < step_ || is_intact(mapping, mapping.place));
        const bool useless = step_ - mapping.last_step >= max_unused_steps ||
                             header_of(mapping.memory).released != 0;
        if (useless)
            close(mapping);
        return useless;
    });
    ++step_;
    if (!intact)
        throw PeerGone("The writer replaced a step before this reader released it, because it "
                       "considered this reader gone: discard the values read from the step, and "
                       "attach again.");
}

MappedSegments::Mapping* MappedSegments::find(const SegmentPlace& place) {
    const auto mapping = mappings_.find(place.token);
    if (mapping == mappings_.end())
        return nullptr;
    const SegmentPlace& known = mapping->second.place;
    const bool same = known.process == place.process && known.bytes == place.bytes &&
                      descriptor_of(known.handle) == descriptor_of(place.handle);
    return same ? &mapping->second : nullptr;
}

/// Return whether the segment contains the step that was announced at `place`.
bool MappedSegments::is_intact(const Mapping& mapping, const SegmentPlace& place) {
    std::atomic_thread_fence(std::memory_order_acquire); // after all reads of the step
    return header_of(mapping.memory).generation.load(std::memory_order_relaxed) ==
           generation_of(place.handle);
}

/// Return null on any mismatch.
const std::byte* MappedSegments::open(const SegmentPlace& place) {
    if (place.bytes > std::uint64_t{1} << 62)
        return nullptr;
    const std::string link = "/proc/" + std::to_string(place.process) + "/fd/" +
                             std::to_string(descriptor_of(place.handle));
    if (!is_segment_link(link))
        return nullptr;
    const int file = ::open(link.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0)
        return nullptr;
    const std::size_t size = place.bytes + SegmentHeader::bytes;
    void* const at = is_whole(file, size)
                         ? mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0)
                         : MAP_FAILED;
    ::close(file);
    if (at == MAP_FAILED)
        return nullptr;
    const SegmentHeader& header = header_of(static_cast<const std::byte*>(at));
    if (header.token == place.token && header.payload_bytes == place.bytes)
        return static_cast<const std::byte*>(at);
    munmap(at, size);
    return nullptr;
}

void MappedSegments::close(const Mapping& mapping) {
    munmap(const_cast<std::byte*>(mapping.memory), mapping.place.bytes + SegmentHeader::bytes);
}

} // namespace uzushio::staging::shm
