#pragma once

#include <functional>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/reader.hpp"
#include "staging/transport/inproc/step_source.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging::inproc {

/// Runs work inside the solver's step, on the solver's own arrays: nothing is copied but what one
/// rank reads of another's. Nothing is kept, so there is no queue: every step is delivered, and the
/// time that the work takes is the solver's.
class InprocEngine : public WriterEngine {
  public:
    /// Collective. `group` must outlive the engine.
    explicit InprocEngine(const parallel::CollectiveGroup& group);

    std::optional<std::uint64_t> publish(LocalStep step) override;
    void close() override {}
    /// `delivered` counts each step for each work, `seconds_waited` what they took.
    [[nodiscard]] QueueCounters counters() const override { return counters_; }
    void on_step(std::function<void(Reader&)> work) override;

  private:
    [[nodiscard]] bool agree_on_change(const LocalStep& step) const;
    void gather_table(const StepInfo& part);
    void run(std::size_t number);

    const parallel::CollectiveGroup& group_;
    StepSource* source_; ///< the reader's
    Reader reader_;
    std::vector<std::function<void(Reader&)>> work_;
    StepInfo part_;  ///< this rank's, when the table was gathered
    StepInfo whole_; ///< of all ranks
    bool gathered_ = false;
    QueueCounters counters_;
};

} // namespace uzushio::staging::inproc
