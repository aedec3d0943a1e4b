#include "stencil/sweep.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "parallel/max_threads.hpp"
#include "stencil/exchange_plans.hpp"
#include "stencil/tile_shape.hpp"

namespace uzushio::stencil {

namespace {

void check_min(int value, int min, const char* name) {
    if (value < min)
        throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                                    "; it must be at least " + std::to_string(min));
}

void check_max(int value, int max, const char* name) {
    if (value > max)
        throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                                    "; it must be at most " + std::to_string(max));
}

/// Maximum number of points or steps in an option: sums of a few of them do not overflow.
constexpr int max_extent = 1 << 20;

SweepOptions checked(const Tiling& tiling, SweepOptions options) {
    const BlockingScheme& scheme = find_scheme(options.scheme);
    check_min(options.block_steps, 1, "block_steps");
    check_max(options.block_steps, max_extent, "block_steps");
    check_min(options.margin, 0, "margin");
    check_min(options.threads, 1, "threads");
    check_max(options.threads, parallel::max_threads, "threads");
    check_min(options.cache.rows, 1, "cache.rows");
    check_max(options.cache.rows, max_extent, "cache.rows");
    check_min(options.cache.columns, 1, "cache.columns");
    check_max(options.cache.columns, max_extent, "cache.columns");
    check_min(options.cache.steps, 1, "cache.steps");
    check_max(options.cache.steps, max_extent, "cache.steps");
    check_min(options.cache.strip_columns, 1, "cache.strip_columns");
    check_min(options.cache.strip_steps, 1, "cache.strip_steps");
    if (options.margin > 0 && !scheme.margins)
        throw std::invalid_argument("scheme '" + std::string(scheme.name) +
                                    "' does not support a margin; margin must be 0");
    const int max_steps = scheme.max_steps(tiling, options.margin);
    if (options.block_steps > max_steps) {
        const std::string tiles = std::to_string(tiling.min_extent_x()) + " x " +
                                  std::to_string(tiling.min_extent_y()) + " points";
        throw std::invalid_argument(
            "a block of " + std::to_string(options.block_steps) +
            " steps is too long: with tiles of at least " + tiles + ", the maximum of scheme '" +
            std::string(scheme.name) + "' is " +
            (max_steps < 1 ? "0; use fewer tiles" : std::to_string(max_steps)));
    }
    return options;
}

/// Return the tile with all points that are ever read around it.
Rect box(const Tiling& tiling, const SweepOptions& options) {
    const Rect halo = tile_shape(tiling).with_halo(options.block_steps + options.margin);
    return {{halo.x.begin - 1, halo.x.end + 1}, {halo.y.begin - 1, halo.y.end + 1}};
}

/// Block and the step at which it starts.
struct BlockStart {
    int step;
    BlockKind kind;
};

/// Return the blocks from `first` to `last`, in order.
std::vector<BlockStart> block_starts(const SweepOptions& options, const BlockingScheme& scheme,
                                     int first, int last) {
    const int low = std::min(first, last);
    const int high = std::max(first, last);
    const int blocks = (high - low + options.block_steps - 1) / options.block_steps;
    std::vector<BlockStart> all;
    for (int i = 0; i < blocks; ++i) {
        const int begin = low + i * options.block_steps;
        const int end = std::min(begin + options.block_steps, high);
        BlockKind kind{end - begin, options.block_steps, options.margin, options.overlap,
                       i % 2 == 1};
        if (first <= last) {
            all.push_back({begin, kind});
            continue;
        }
        kind.backward = true;
        if (scheme.moves) {
            // A tile steps down from the points of level k that it computed itself: a block spans
            // from below its highest level to the highest level of the previous block, and the
            // lowest block to its first level.
            kind.to_level = i == 0 ? 1 : 0;
            kind.steps -= kind.to_level;
        }
        if (kind.steps > 0)
            all.push_back({end - (scheme.moves ? 1 : 0), kind});
        if (scheme.moves && i == blocks - 1) {
            kind.to_level = end - begin;
            kind.steps = 1;
            kind.entry = true;
            all.push_back({end, kind});
        }
    }
    if (last < first)
        std::reverse(all.begin(), all.end());
    return all;
}

} // namespace

Sweep::Sweep(const Tiling& tiling, SweepOptions options)
    : tiling_(tiling), options_(checked(tiling, std::move(options))),
      scheme_(find_scheme(options_.scheme)), buffers_(box(tiling_, options_), tiling.own().x.begin),
      exchanger_(tiling.comm()), executor_(tiling, options_.cache, options_.threads),
      update_bounds_(tiling.own()), owned_(tiling.own()) {
    // A few blocks in both directions cover all kinds.
    const int steps = 3 * options_.block_steps;
    for (const auto& [from, to] : {std::pair{0, steps}, std::pair{steps, 0}})
        for (const BlockStart& start : block_starts(options_, scheme_, from, to)) {
            const SweepPlan& plan_of_kind = plan(start.kind);
            update_bounds_ = bounding_rect(update_bounds_, stencil::update_bounds(plan_of_kind));
            owned_ = bounding_rect(
                owned_, intersect(stencil::update_bounds(plan_of_kind), plan_of_kind.owned));
        }
}

const SweepPlan& Sweep::plan(const BlockKind& kind) {
    const auto entry = plans_.find(kind);
    return entry != plans_.end() ? entry->second
                                 : plans_.emplace(kind, scheme_.plan(tiling_, kind)).first->second;
}

void Sweep::count_exchange(const ExchangePlan& exchange) {
    const MessageCount sent = count(exchange, tiling_.comm().rank());
    counters_.messages += sent.messages;
    counters_.bytes += sent.values * static_cast<std::int64_t>(sizeof(double));
}

void Sweep::move_tiles(int to) {
    const ExchangePlan exchange = relocation_exchange(tiling_, moved_, to);
    exchanger_.start(exchange, buffers_, current_);
    exchanger_.finish();
    count_exchange(exchange);
    moved_ = to;
}

void Sweep::run_block(int step, const BlockKind& kind, const RowKernel& kernel) {
    const SweepPlan& plan = this->plan(kind);
    if (moved_ != plan.moved)
        move_tiles(plan.moved);
    const auto progress = [this] { exchanger_.progress(); };
    const auto compute = [&](const Region& region) {
        executor_.compute(region, plan.owned, buffers_, current_, step, kind.backward ? -1 : 1,
                          kernel, progress);
    };
    for (const SweepPhase& phase : plan.phases) {
        exchanger_.start(phase.exchange, buffers_, current_);
        compute(phase.meanwhile);
        exchanger_.finish();
        compute(phase.after);
    }
    current_ ^= plan.steps & 1;
    moved_ += plan.moves;
    for (const SweepPhase& phase : plan.phases)
        count_exchange(phase.exchange);
    const UpdateCount counted = count(plan);
    counters_.steps += plan.steps;
    counters_.blocks += 1;
    counters_.points += counted.points;
    counters_.redundant += counted.redundant;
}

void Sweep::run_rows(double* tile, std::ptrdiff_t stride, int first, int last,
                     const RowKernel& kernel) {
    const Rect own = tiling_.own();
    current_ = 0;
#pragma omp parallel for num_threads(options_.threads) schedule(static)
    for (int y = own.y.begin; y < own.y.end; ++y)
        std::copy_n(tile + (y - own.y.begin) * stride, own.x.size(),
                    buffers_.row(0, y) + own.x.begin);

    for (const BlockStart& start : block_starts(options_, scheme_, first, last))
        run_block(start.step, start.kind, kernel);
    if (moved_ != 0)
        move_tiles(0);

#pragma omp parallel for num_threads(options_.threads) schedule(static)
    for (int y = own.y.begin; y < own.y.end; ++y)
        std::copy_n(buffers_.row(current_, y) + own.x.begin, own.x.size(),
                    tile + (y - own.y.begin) * stride);
}

} // namespace uzushio::stencil
