#include "staging/transport/inproc/source.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "staging/exception_of.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging::inproc {

void InprocSource::begin_step(std::uint64_t sequence, const StepInfo& step,
                              std::vector<ConstArrayView> values) {
    values_ = std::move(values);
    first_values_.clear();
    const auto own = [&](const Block& block) {
        return block.rank == static_cast<std::uint32_t>(group_.rank());
    };
    const auto first = std::ranges::find_if(step.blocks, own);
    first_block_ = static_cast<std::uint32_t>(first - step.blocks.begin());
    std::size_t arrays = 0;
    for (auto block = first; block != step.blocks.end() && own(*block); ++block) {
        first_values_.push_back(arrays);
        arrays += block->arrays.size();
    }
    assert(arrays == values_.size());
    step_ = std::make_shared<const Announce>(Announce{sequence, {}, step});
}

void InprocSource::end_step() {
    step_ = nullptr;
    values_.clear();
}

AnnouncedStep InprocSource::next(std::chrono::nanoseconds) {
    throw StagingError(
        "A reader of the engine inproc may be used only inside functions of on_step.");
}

void InprocSource::release(std::uint64_t) {}

std::shared_ptr<const Announce> InprocSource::current() const { return step_; }

InprocSource::Agreement InprocSource::agree_on(RankState state,
                                               const std::exception_ptr& error) const {
    std::array<std::uint64_t, 3> most{state == RankState::reading ? 1u : 0u,
                                      state == RankState::finished ? 1u : 0u, error ? 1u : 0u};
    group_.max(most);
    const auto [reads, ends, failed] = most;
    return {reads == 0, exception_of([&] {
                if (failed != 0)
                    group_.agree(error);
                require(reads == 0 || ends == 0,
                        "Some ranks read inside the solver's step and others do not: all ranks "
                        "must read equally often, also if only an empty box.");
            })};
}

void InprocSource::check(const std::exception_ptr& error) {
    if (const Agreement now = agree_on(RankState::reading, error); now.error)
        std::rethrow_exception(now.error);
}

void InprocSource::finish(std::exception_ptr error) {
    for (;;) {
        const Agreement now = agree_on(RankState::finished, error);
        if (now.all_finished && now.error)
            std::rethrow_exception(now.error);
        if (now.all_finished)
            return;
        error = now.error; // other ranks still read; they fail, and then call `finish`
    }
}

const ConstArrayView& InprocSource::value(std::uint32_t block, std::uint32_t array) const {
    return values_.at(first_values_.at(block - first_block_) + array);
}

std::optional<ConstArrayView> InprocSource::view(const Announce& step, std::uint32_t block,
                                                 std::uint32_t array) {
    if (step.step.blocks[block].rank != static_cast<std::uint32_t>(group_.rank()))
        return std::nullopt;
    return value(block, array);
}

void InprocSource::fetch(const Announce&, std::span<const Fetch> wanted, std::chrono::nanoseconds) {
    exchange_.run(wanted, [this](const PieceRequest& request) {
        return value(request.block, request.array)
            .sub(request.source)
            .select_components(request.first_component, request.components);
    });
}

} // namespace uzushio::staging::inproc
