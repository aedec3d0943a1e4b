#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/reader.hpp"
#include "staging/transport/inproc/source.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging::inproc {

/// Engine that runs functions inside the solver's step, on the solver's own arrays. Only values
/// that one rank reads from another are copied. There is no queue: every step is delivered, and the
/// solver waits for the functions.
class InprocEngine : public WriterEngine {
  public:
    /// Collective. `group` must outlive the engine.
    explicit InprocEngine(const parallel::CollectiveGroup& group);

    /// Return no limit: the table stays in the job.
    [[nodiscard]] std::size_t max_table_bytes() const override {
        return std::numeric_limits<std::size_t>::max();
    }
    std::optional<std::uint64_t> publish(LocalStep step) override;
    void close() override {}
    /// `delivered` counts each step once per function, `seconds_waited` is their total time.
    [[nodiscard]] QueueCounters counters() const override { return counters_; }
    void on_step(std::function<void(Reader&)> work) override;

  private:
    [[nodiscard]] bool agree_on_change(const LocalStep& step) const;
    void gather_table(const StepInfo& part);
    void run(std::size_t number);

    const parallel::CollectiveGroup& group_;
    InprocSource* source_; ///< owned by the reader
    Reader reader_;
    std::vector<std::function<void(Reader&)>> work_;
    StepInfo part_;  ///< this rank's part when the table was gathered
    StepInfo table_; ///< of all ranks
    bool gathered_ = false;
    QueueCounters counters_;
};

} // namespace uzushio::staging::inproc
