#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/queue/held_steps.hpp"
#include "staging/queue/queue.hpp"
#include "staging/queue/segment.hpp"
#include "staging/transport/queued/announcer.hpp"
#include "staging/transport/queued/publish_messages.hpp"
#include "staging/transport/queued/segment_layout.hpp"
#include "staging/transport/queued/segment_pool.hpp"
#include "staging/transport/service.hpp"
#include "staging/transport/writer_engine.hpp"

/// Common part of the engines shm, tcp and mpi on the writer's side: a queue of segments.
namespace uzushio::staging::queued {

/// Makes a rank's service for the steps in `held`; `queue` is null on all ranks but 0. Both outlive
/// the service.
using MakeService = std::function<std::unique_ptr<Service>(const HeldSteps& held, Queue* queue)>;

/// Engine that keeps steps in memory segments, one for each rank, until readers release them. A
/// step costs two gathers to rank 0 and two broadcasts, all small, and one copy of the values that
/// are not in a `buffer`; a dropped step costs one gather, one broadcast and no copy.
class QueuedEngine : public WriterEngine {
  public:
    /// Collective; duplicates the communicator. Throws StagingError on all ranks if a service
    /// cannot be made on one.
    QueuedEngine(const parallel::CollectiveGroup& group, const EngineOptions& options,
                 MakeSegment make_segment, const MakeService& make_service);
    ~QueuedEngine() override;
    QueuedEngine(const QueuedEngine&) = delete;
    QueuedEngine& operator=(const QueuedEngine&) = delete;

    /// Part of the segment that is filled next. Empty before the first step, whose size is unknown,
    /// and in a step that is larger than the last one.
    [[nodiscard]] std::span<std::byte> buffer(std::size_t bytes) override;

    void discard_buffers() override { allocated_ = 0; }

    /// If any rank fails, all ranks throw: the step is not published, and the next one may be
    /// tried. Causes: no memory, tables that do not match, QueueTimeout, PeerGone (awaited readers
    /// did not attach), WaitStopped.
    std::optional<std::uint64_t> publish(LocalStep step) override;

    void abandon() override;
    /// May exceed the limit by a second, to send the end of the stream. Nothing may be published
    /// afterwards, even if it throws.
    void close() override;

    /// On ranks other than 0, only `published`.
    [[nodiscard]] QueueCounters counters() const override;

    [[nodiscard]] std::vector<ReceivedCommand> take_commands() override;
    void reply(std::uint64_t reader, Reply reply) override;

    /// Bytes of this rank that were copied so far.
    [[nodiscard]] std::uint64_t bytes_copied() const { return copied_; }
    /// Segments of this rank, in use or free.
    [[nodiscard]] std::size_t segments() const { return pool_.count(); }

  protected:
    [[nodiscard]] Endpoint endpoint() const { return service_->endpoint(); } ///< of this rank

  private:
    class QueueReservation;

    StepOffer make_offer(LocalStep step, SegmentLayout& layout);
    AdmissionDecision decide(const std::vector<std::vector<std::byte>>& offers,
                             std::exception_ptr& error, QueueReservation& reservation);
    StoreResult store(const SegmentLayout& layout);
    [[nodiscard]] bool commit(const std::vector<std::vector<std::byte>>& results,
                              std::exception_ptr& error, QueueReservation& reservation);
    [[noreturn]] void fail(const std::exception_ptr& error);
    [[nodiscard]] AdmissionDecision broadcast_decision(const AdmissionDecision& decision);
    void wait_for_first_readers();
    [[nodiscard]] bool reserve(QueueReservation& reservation, std::size_t bytes);

    parallel::CollectiveGroup group_;
    EngineOptions options_;
    std::shared_ptr<Queue> queue_; ///< on rank 0
    HeldSteps held_;
    SegmentPool pool_;

    // The segment that is filled next, and the allocation of its memory.
    std::shared_ptr<Segment> next_segment_;
    std::size_t allocated_ = 0;  ///< bytes requested of `next_segment_`, also if not available
    std::size_t last_bytes_ = 0; ///< size of the last step

    // All ranks.
    std::shared_ptr<const StepInfo> part_; ///< this rank's table as rank 0 has it, or null
    std::uint32_t first_block_ = 0;
    std::uint64_t sequence_ = 0; ///< of the next accepted step
    std::uint64_t offered_ = 0;
    std::uint64_t copied_ = 0;
    bool closed_ = false;

    // Rank 0.
    std::vector<StepInfo> parts_;
    StepInfo head_;
    Announcer announcer_;
    bool readers_waited_for_ = false;
    bool wait_notified_ = false; ///< for space in the queue

    std::unique_ptr<Service> service_; ///< destroyed first
};

} // namespace uzushio::staging::queued
