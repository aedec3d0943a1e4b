#include "staging/transport/inproc/engine.hpp"

#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include "staging/exception_of.hpp"
#include "staging/require.hpp"
#include "staging/wire/step_codec.hpp"

namespace uzushio::staging::inproc {
namespace {

/// For tables from ranks of the same job.
constexpr DecodeLimits unlimited() {
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    return {most, most, most, most};
}

} // namespace

InprocEngine::InprocEngine(const parallel::CollectiveGroup& group)
    : group_(group), source_(new InprocSource(group)),
      reader_(std::unique_ptr<StepSource>(source_), MPI_COMM_NULL) {}

void InprocEngine::on_step(std::function<void(Reader&)> work) { work_.push_back(std::move(work)); }

std::optional<std::uint64_t> InprocEngine::publish(LocalStep step) {
    const std::uint64_t sequence = counters_.published++;
    const bool changed = agree_on_change(step);
    if (work_.empty())
        return sequence;

    const auto start = std::chrono::steady_clock::now();
    if (changed)
        gather_table(step.part);
    table_.index = step.part.index;
    table_.time = step.part.time;
    source_->begin_step(sequence, table_, std::move(step.values));
    struct Leave { // also when the work throws
        InprocEngine& engine;
        std::chrono::steady_clock::time_point start;
        ~Leave() {
            engine.source_->end_step();
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
            engine.counters_.seconds_waited += taken.count();
        }
    } leave{*this, start};
    const std::size_t works = work_.size();
    for (std::size_t number = 0; number < works; ++number)
        run(number);
    return sequence;
}

/// Return whether any rank's part of the table has changed. Throws on all ranks if they do not have
/// the same number of work functions.
bool InprocEngine::agree_on_change(const LocalStep& step) const {
    StepInfo before = part_;
    before.index = step.part.index;
    before.time = step.part.time;
    const std::uint64_t works = work_.size();
    const bool changed = works > 0 && (!gathered_ || before != step.part);
    std::array<std::uint64_t, 3> most{changed ? 1u : 0u, works, ~works};
    group_.max(most);
    require(most[1] == ~most[2], "Some ranks registered ", most[1],
            " functions with on_step, others ", ~most[2], ": all ranks must register the same.");
    return most[0] != 0;
}

void InprocEngine::gather_table(const StepInfo& part) {
    gathered_ = false;
    const auto parts = group_.gather(encode_step(part));
    const auto bytes = group_.from_root([&] {
        std::vector<StepInfo> decoded;
        decoded.reserve(parts.size());
        for (const auto& encoded : parts)
            decoded.push_back(decode_step(encoded, unlimited()));
        return encode_step(merge(decoded));
    });
    table_ = decode_step(bytes, unlimited());
    part_ = part;
    gathered_ = true;
}

void InprocEngine::run(std::size_t number) {
    source_->finish(exception_of([&] {
        work_[number](reader_);
        ++counters_.delivered;
    }));
}

} // namespace uzushio::staging::inproc
