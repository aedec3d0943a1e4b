#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "staging/transport/shm/mapped_segments.hpp"
#include "staging/transport/socket/segment_mapper.hpp"

namespace uzushio::staging::shm {

/// Mapper of the memory of writers on this node.
class SharedMemoryMapper final : public socket::SegmentMapper {
  public:
    SharedMemoryMapper();

    [[nodiscard]] const std::string& node() const override { return node_; }
    [[nodiscard]] std::span<const std::byte> map(const SegmentPlace& place) override;
    /// Throws PeerGone if the writer replaced the step while it was in use, because it considered
    /// this reader dead.
    void end() override;

  private:
    std::string node_; ///< read once, because it takes system calls
    MappedSegments map_;
    std::unordered_map<std::uint64_t, SegmentPlace> mapped_; ///< of this step, by token
};

} // namespace uzushio::staging::shm
