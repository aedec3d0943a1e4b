#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "staging/transport/shm/segment_map.hpp"
#include "staging/transport/socket/source.hpp"

namespace uzushio::staging::shm {

/// Lets a reader look at the memory of writers on its node.
class Mapper final : public socket::SegmentMapper {
  public:
    Mapper();

    [[nodiscard]] const std::string& node() const override { return node_; }
    [[nodiscard]] std::span<const std::byte> map(const SegmentPlace& place) override;
    /// Throws PeerGone if the writer took the step away while it was looked at: its rank had given
    /// this reader up.
    void end() override;

  private:
    std::string node_; ///< asked for once: that takes system calls
    SegmentMap map_;
    std::unordered_map<std::uint64_t, SegmentPlace> seen_; ///< of this step, by token
};

} // namespace uzushio::staging::shm
