#include "staging/transport/queued/announcer.hpp"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "staging/require.hpp"
#include "staging/wire/decode_limits.hpp"
#include "staging/wire/frame_header.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/step_codec.hpp"

namespace uzushio::staging::queued {
namespace {

constexpr std::size_t plain_head = 8 + 8 + 4; ///< index, time, no attributes
constexpr std::size_t empty_table = 4 * 4;    ///< four lists without items

} // namespace

void Announcer::set_table(StepInfo table) {
    assert(table.attributes.empty());
    table_ = std::move(table);
    encoded_ = encode_step(table_);
    encoded_.erase(encoded_.begin(), encoded_.begin() + plain_head);
}

void Announcer::set_checksums(std::span<const std::uint32_t> checksums) {
    std::size_t i = 0;
    for (Block& block : table_.blocks)
        for (StoredArray& array : block.arrays)
            array.checksum = i < checksums.size() ? std::optional(checksums[i++]) : std::nullopt;
    assert(i == checksums.size());
    set_table(std::move(table_));
}

std::shared_ptr<EncodedAnnounce> Announcer::announce(std::uint64_t sequence,
                                                     const std::vector<SegmentPlace>& places,
                                                     const StepInfo& head) const {
    const Message message = Announce{sequence, places, head};
    auto bytes = std::make_shared<EncodedAnnounce>(encode(message));
    bytes->resize(bytes->size() - empty_table);
    bytes->insert(bytes->end(), encoded_.begin(), encoded_.end());
    const auto body = std::span(*bytes).subspan(FrameHeader::size);
    require(body.size() <= DecodeLimits{}.message_bytes, "The table of the step has ", body.size(),
            " bytes, and the maximum is ", DecodeLimits{}.message_bytes,
            ": use fewer or larger blocks, or fewer fields.");
    const auto frame = encode_frame_header(static_cast<std::uint16_t>(message.index() + 1), body);
    std::copy(frame.begin(), frame.end(), bytes->begin());
    return bytes;
}

} // namespace uzushio::staging::queued
