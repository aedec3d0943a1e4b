#pragma once

#include <memory>
#include <optional>
#include <string>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/transport/queued/slot_engine.hpp"
#include "staging/transport/socket/contact.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging::socket {

/// Engines tcp and shm: steps in slots, served over TCP, and a contact file that leads there from
/// opening to closing.
class SocketEngine final : public WriterEngine {
  public:
    /// Where the steps lie.
    struct Memory {
        MakeSegment make;
        std::string node; ///< for Endpoint::node; empty: it is not shared
    };

    /// Collective. Throws StagingError on all ranks if one cannot listen, or the contact file
    /// cannot be written or is another living writer's.
    SocketEngine(const std::string& stream, const parallel::CollectiveGroup& group,
                 const EngineOptions& options, const Memory& memory);

    void take_back_buffers() override { slots_->take_back_buffers(); }
    [[nodiscard]] std::span<std::byte> buffer(std::size_t bytes) override {
        return slots_->buffer(bytes);
    }
    std::optional<std::uint64_t> publish(LocalStep step) override {
        return slots_->publish(std::move(step));
    }
    void abandon() override {
        contact_.reset();
        slots_->abandon();
    }
    void close() override;
    [[nodiscard]] QueueCounters counters() const override { return slots_->counters(); }

    [[nodiscard]] const queued::SlotEngine& slots() const { return *slots_; }

  private:
    std::unique_ptr<queued::SlotEngine> slots_;
    std::optional<PublishedContact> contact_; ///< on rank 0
};

} // namespace uzushio::staging::socket
