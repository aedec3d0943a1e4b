#pragma once

#include <optional>
#include <string>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/transport/queued/queued_engine.hpp"
#include "staging/transport/socket/contact.hpp"

namespace uzushio::staging::socket {

/// Engines tcp and shm: a queue of segments, served over TCP. A contact file exists from opening to
/// closing.
class SocketEngine final : public queued::QueuedEngine {
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

    void abandon() override {
        contact_.reset();
        QueuedEngine::abandon();
    }
    void close() override;

  private:
    /// With a contact in the options.
    SocketEngine(const std::string& stream, const parallel::CollectiveGroup& group,
                 const EngineOptions& options, const Memory& memory, const Secret& secret);

    std::optional<PublishedContact> contact_; ///< on rank 0
};

} // namespace uzushio::staging::socket
