#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/transport/queued/queued_engine.hpp"
#include "staging/transport/socket/contact.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging::socket {

/// Engines tcp and shm: a queue of segments, served over TCP. A contact file exists from opening to
/// closing.
class SocketEngine final : public WriterEngine {
  public:
    /// Memory of the steps.
    struct Memory {
        MakeSegment make;
        std::string node; ///< for Endpoint::node; empty: not shared
    };

    /// Collective. Throws StagingError on all ranks if one cannot listen, or the contact file
    /// cannot be written or belongs to another living writer.
    SocketEngine(const std::string& stream, const parallel::CollectiveGroup& group,
                 const EngineOptions& options, const Memory& memory);

    void discard_buffers() override { queued_->discard_buffers(); }
    [[nodiscard]] std::span<std::byte> buffer(std::size_t bytes) override {
        return queued_->buffer(bytes);
    }
    std::optional<std::uint64_t> publish(LocalStep step) override {
        return queued_->publish(std::move(step));
    }
    void abandon() override {
        contact_.reset();
        queued_->abandon();
    }
    void close() override;
    [[nodiscard]] QueueCounters counters() const override { return queued_->counters(); }
    [[nodiscard]] std::vector<ReceivedCommand> take_commands() override {
        return queued_->take_commands();
    }
    void reply(std::uint64_t reader, Reply reply) override {
        queued_->reply(reader, std::move(reply));
    }

    [[nodiscard]] const queued::QueuedEngine& queued_engine() const { return *queued_; }

  private:
    std::unique_ptr<queued::QueuedEngine> queued_;
    std::optional<PublishedContact> contact_; ///< on rank 0
};

} // namespace uzushio::staging::socket
