#pragma once

#include <memory>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/transport/inproc/exchange.hpp"
#include "staging/transport/source.hpp"

namespace uzushio::staging::inproc {

/// The step that the solver is publishing, for work that runs inside it on all ranks.
///
/// Reads are collective, and ranks may part ways: the work of one throws, say, while others read.
/// So every read of a rank, and the end of its work, is one round in which all ranks say what they
/// are at, and fail together if something failed or they are at different things.
class StepSource : public Source {
  public:
    /// `group` must outlive the source.
    explicit StepSource(const parallel::CollectiveGroup& group) : group_(group), exchange_(group) {}

    /// `values`: of this rank's blocks in `step`, block by block, array by array.
    void enter(std::uint64_t sequence, const StepInfo& step, std::vector<ConstArrayView> values);
    /// This rank's work has ended, with `error` if it failed. Waits for the other ranks, and throws
    /// StagingError on all if it failed on any.
    void finish(std::exception_ptr error);
    void leave();

    [[nodiscard]] Announced next(std::chrono::nanoseconds limit) override;
    [[nodiscard]] std::shared_ptr<const Announce> here() const override;
    void check(const std::exception_ptr& error) override;
    [[nodiscard]] std::optional<ConstArrayView> view(const Announce& step, std::uint32_t block,
                                                     std::uint32_t array) override;
    void fetch(const Announce& step, std::span<const Fetch> wanted,
               std::chrono::nanoseconds limit) override;
    void release(std::uint64_t sequence) override;

  private:
    enum class At : std::uint8_t { read, end };
    struct Round {
        bool all_at_end = false;
        std::exception_ptr error; ///< the same on all ranks
    };
    [[nodiscard]] Round round(At at, const std::exception_ptr& error) const;
    [[nodiscard]] const ConstArrayView& value(std::uint32_t block, std::uint32_t array) const;

    const parallel::CollectiveGroup& group_;
    Exchange exchange_;
    std::shared_ptr<const Announce> step_;
    std::vector<ConstArrayView> values_;
    std::uint32_t first_block_ = 0;         ///< of this rank, in the whole table
    std::vector<std::size_t> first_values_; ///< of each block of this rank, in `values_`
};

} // namespace uzushio::staging::inproc
