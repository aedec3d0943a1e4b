#include "staging/transport/shm/segment_map.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "staging/transport/shm/segment_header.hpp"

namespace uzushio::staging::shm {
namespace {

constexpr std::uint64_t turns_kept = 64; ///< a queue is hardly deeper, and mapping anew is cheap

const SegmentHeader& header_of(const std::byte* memory) {
    return *std::launder(reinterpret_cast<const SegmentHeader*>(memory));
}

/// Whether a link in /proc leads to a memfd of ours. Asked before it is opened: opening some files
/// blocks, or does things.
bool leads_to_segment(const std::string& link) {
    constexpr std::string_view name = "/memfd:uzushio";
    std::array<char, 64> target{};
    const ssize_t length = readlink(link.c_str(), target.data(), target.size());
    return length > 0 &&
           std::string_view(target.data(), static_cast<std::size_t>(length)).starts_with(name);
}

/// Of the right size, and never to get smaller.
bool is_whole(int file, std::size_t size) {
    struct stat status{};
    const int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(file, &status) == 0 &&
           static_cast<std::size_t>(status.st_size) == size;
}

} // namespace

SegmentMap::~SegmentMap() {
    for (const auto& [token, window] : windows_)
        close(window);
}

std::span<const std::byte> SegmentMap::map(const SegmentPlace& place) {
    if (find(place) == nullptr) {
        const std::byte* const memory = open(place);
        if (memory == nullptr)
            return {};
        const auto [old, is_new] = windows_.try_emplace(place.token);
        if (!is_new) // the same number by chance, or the writer's memory moved
            close(old->second);
        old->second = {memory, place, turn_};
    }
    Window& window = windows_.at(place.token);
    window.last_turn = turn_;
    if (!intact(place))
        return {};
    return {window.memory + SegmentHeader::bytes, place.bytes};
}

bool SegmentMap::intact(const SegmentPlace& place) const {
    const Window* window = find(place);
    std::atomic_thread_fence(std::memory_order_acquire); // after whatever was read
    return window != nullptr &&
           header_of(window->memory).use.load(std::memory_order_relaxed) == use_of(place.handle);
}

void SegmentMap::turn() {
    ++turn_;
    std::erase_if(windows_, [&](const auto& item) {
        const Window& window = item.second;
        const bool useless =
            turn_ - window.last_turn > turns_kept || header_of(window.memory).given_up != 0;
        if (useless)
            close(window);
        return useless;
    });
}

const SegmentMap::Window* SegmentMap::find(const SegmentPlace& place) const {
    const auto found = windows_.find(place.token);
    if (found == windows_.end())
        return nullptr;
    const SegmentPlace& known = found->second.place;
    const bool same = known.process == place.process && known.bytes == place.bytes &&
                      descriptor_of(known.handle) == descriptor_of(place.handle);
    return same ? &found->second : nullptr;
}

/// Null if anything is wrong.
const std::byte* SegmentMap::open(const SegmentPlace& place) {
    if (place.bytes > std::uint64_t{1} << 62)
        return nullptr;
    const std::string link = "/proc/" + std::to_string(place.process) + "/fd/" +
                             std::to_string(descriptor_of(place.handle));
    if (!leads_to_segment(link))
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
    if (header.token == place.token && header.bytes_behind == place.bytes)
        return static_cast<const std::byte*>(at);
    munmap(at, size);
    return nullptr;
}

void SegmentMap::close(const Window& window) {
    munmap(const_cast<std::byte*>(window.memory), window.place.bytes + SegmentHeader::bytes);
}

} // namespace uzushio::staging::shm
