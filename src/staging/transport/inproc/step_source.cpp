#include "staging/transport/inproc/step_source.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "staging/staging_error.hpp"

namespace uzushio::staging::inproc {

void StepSource::enter(std::uint64_t sequence, const StepInfo& step,
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

void StepSource::leave() {
    step_ = nullptr;
    values_.clear();
}

Announced StepSource::next(std::chrono::nanoseconds) {
    throw StagingError("A reader inside the solver's step may be used by the work on it alone.");
}

void StepSource::release(std::uint64_t) {}

std::shared_ptr<const Announce> StepSource::here() const { return step_; }

StepSource::Round StepSource::round(At at, const std::exception_ptr& error) const {
    std::array<std::uint64_t, 3> most{at == At::read ? 1u : 0u, at == At::end ? 1u : 0u,
                                      error ? 1u : 0u};
    group_.max(most);
    const auto [reads, ends, failed] = most;
    Round result;
    result.all_at_end = reads == 0;
    try {
        if (failed != 0)
            group_.agree(error);
        if (reads != 0 && ends != 0)
            throw StagingError("Some ranks read inside the solver's step and others do not: all "
                               "must read equally often, if only an empty box.");
    } catch (...) {
        result.error = std::current_exception();
    }
    return result;
}

void StepSource::check(const std::exception_ptr& error) {
    if (const Round now = round(At::read, error); now.error)
        std::rethrow_exception(now.error);
}

void StepSource::finish(std::exception_ptr error) {
    for (;;) {
        const Round now = round(At::end, error);
        if (now.all_at_end && now.error)
            std::rethrow_exception(now.error);
        if (now.all_at_end)
            return;
        error = now.error; // others still read: they fail, and come here
    }
}

const ConstArrayView& StepSource::value(std::uint32_t block, std::uint32_t array) const {
    return values_.at(first_values_.at(block - first_block_) + array);
}

std::optional<ConstArrayView> StepSource::view(const Announce& step, std::uint32_t block,
                                               std::uint32_t array) {
    if (step.step.blocks[block].rank != static_cast<std::uint32_t>(group_.rank()))
        return std::nullopt;
    return value(block, array);
}

void StepSource::fetch(const Announce&, std::span<const Fetch> wanted, std::chrono::nanoseconds) {
    exchange_.run(wanted, [this](const PieceRequest& request) {
        return value(request.block, request.array)
            .sub(request.source)
            .some(request.first_component, request.components);
    });
}

} // namespace uzushio::staging::inproc
