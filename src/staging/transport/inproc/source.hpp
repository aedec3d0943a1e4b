#pragma once

#include <memory>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/transport/inproc/exchange.hpp"
#include "staging/transport/step_source.hpp"

namespace uzushio::staging::inproc {

/// Source of the step that the solver is publishing, for work that runs inside it on all ranks.
///
/// Reads are collective, but ranks may diverge: one rank's work throws while others read. Therefore
/// every read of a rank, and the end of its work, is a collective agreement on the state of all
/// ranks. All ranks fail together if one failed or their states differ.
class InprocSource : public StepSource {
  public:
    /// `group` must outlive the source.
    explicit InprocSource(const parallel::CollectiveGroup& group)
        : group_(group), exchange_(group) {}

    /// `values`: of this rank's blocks in `step`, block by block, array by array.
    void begin_step(std::uint64_t sequence, const StepInfo& step,
                    std::vector<ConstArrayView> values);
    /// End this rank's work, with `error` if it failed. Waits for the other ranks, and throws
    /// StagingError on all if it failed on any.
    void finish(std::exception_ptr error);
    void end_step();

    [[nodiscard]] AnnouncedStep next(std::chrono::nanoseconds limit) override;
    [[nodiscard]] std::shared_ptr<const Announce> current() const override;
    void check(const std::exception_ptr& error) override;
    [[nodiscard]] std::optional<ConstArrayView> view(const Announce& step, std::uint32_t block,
                                                     std::uint32_t array) override;
    void fetch(const Announce& step, std::span<const Fetch> wanted,
               std::chrono::nanoseconds limit) override;
    void release(std::uint64_t sequence) override;

  private:
    enum class RankState : std::uint8_t { reading, finished };
    struct Agreement {
        bool all_finished = false;
        std::exception_ptr error; ///< the same on all ranks
    };
    [[nodiscard]] Agreement agree_on(RankState state, const std::exception_ptr& error) const;
    [[nodiscard]] const ConstArrayView& value(std::uint32_t block, std::uint32_t array) const;

    const parallel::CollectiveGroup& group_;
    Exchange exchange_;
    std::shared_ptr<const Announce> step_;
    std::vector<ConstArrayView> values_;
    std::uint32_t first_block_ = 0;         ///< of this rank, in the whole table
    std::vector<std::size_t> first_values_; ///< of each block of this rank, in `values_`
};

} // namespace uzushio::staging::inproc
