#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/queue/held_steps.hpp"
#include "staging/queue/queue.hpp"
#include "staging/queue/segment.hpp"
#include "staging/transport/queued/announcer.hpp"
#include "staging/transport/queued/arrangement.hpp"
#include "staging/transport/queued/publishing.hpp"
#include "staging/transport/queued/segment_pool.hpp"
#include "staging/transport/service.hpp"
#include "staging/transport/writer_engine.hpp"

/// What the engines shm, tcp and mpi share on the writer's side.
namespace uzushio::staging::queued {

/// Makes a rank's service, which serves from `held`; `queue` is null on all ranks but 0. Both
/// outlive it.
using MakeService = std::function<std::unique_ptr<Service>(const HeldSteps& held, Queue* queue)>;

/// Keeps steps in segments of memory, one a rank, until readers are done with them. A step costs
/// two gathers to rank 0 and two broadcasts, all small, and one copy of the values that are not in
/// a `buffer`; a step that is dropped costs half of the former and no copy.
class SlotEngine : public WriterEngine {
  public:
    /// Collective; duplicates the communicator. Throws StagingError on all ranks if one cannot have
    /// its service.
    SlotEngine(const parallel::CollectiveGroup& group, const EngineOptions& options,
               MakeSegment make_segment, const MakeService& make_service);
    ~SlotEngine() override;
    SlotEngine(const SlotEngine&) = delete;
    SlotEngine& operator=(const SlotEngine&) = delete;

    /// Part of the segment that is filled next. There is none until a first step has shown how much
    /// is needed, nor in a step that needs more than those before.
    [[nodiscard]] std::span<std::byte> buffer(std::size_t bytes) override;

    void take_back_buffers() override { handed_out_ = 0; }

    /// If any rank fails (no memory, tables that do not fit each other, QueueTimeout, PeerGone for
    /// readers that were to be waited for, WaitStopped), all throw, the step is not published, and
    /// the next one may be tried.
    std::optional<std::uint64_t> publish(LocalStep step) override;

    void abandon() override;
    /// May take a second more than the limit, to say goodbye. Nothing may be published afterwards,
    /// also if it throws.
    void close() override;

    /// Elsewhere than on rank 0, `published` alone.
    [[nodiscard]] QueueCounters counters() const override;

    /// Bytes of this rank that were copied so far.
    [[nodiscard]] std::uint64_t bytes_copied() const { return copied_; }
    /// Segments of this rank, in use or free.
    [[nodiscard]] std::size_t segments() const { return pool_.alive(); }

  private:
    class Room;

    Offer offer(LocalStep step, Arrangement& arrangement);
    Decision decide(const std::vector<std::vector<std::byte>>& offers, std::exception_ptr& error,
                    Room& room);
    Outcome hold(const Arrangement& arrangement);
    Verdict commit(const std::vector<std::vector<std::byte>>& outcomes, std::exception_ptr& error,
                   Room& room);
    [[noreturn]] void fail(const std::exception_ptr& error);
    [[nodiscard]] Decision from_rank_0(const Decision& decision);
    void await_readers();
    [[nodiscard]] bool reserve(Room& room, std::size_t bytes);

    parallel::CollectiveGroup group_;
    EngineOptions options_;
    std::unique_ptr<Queue> queue_; ///< on rank 0
    HeldSteps held_;
    SegmentPool pool_;

    // The segment that is filled next, and how its memory is handed out.
    std::shared_ptr<Segment> open_;
    std::size_t handed_out_ = 0; ///< of `open_`, or what was asked for in vain
    std::size_t usual_ = 0;      ///< bytes that the last step needed

    // All ranks.
    std::shared_ptr<const StepInfo>
        part_; ///< this rank's table, as rank 0 has it; null: it has not
    std::uint32_t first_block_ = 0;
    std::uint64_t sequence_ = 0; ///< of the next step that is accepted
    std::uint64_t offered_ = 0;
    std::uint64_t copied_ = 0;
    bool closed_ = false;

    // Rank 0.
    std::vector<StepInfo> parts_;
    StepInfo head_;
    Announcer announcer_;
    bool readers_awaited_ = false;
    bool wait_told_ = false; ///< for room in the queue

    std::unique_ptr<Service> service_; ///< ends first
};

} // namespace uzushio::staging::queued
