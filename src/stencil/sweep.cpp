#include "stencil/sweep.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "parallel/max_threads.hpp"
#include "stencil/relocate.hpp"
#include "stencil/shape.hpp"

namespace uzushio::stencil {

namespace {

void at_least(int value, int least, const char* name) {
    if (value < least)
        throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                                    "; it must be at least " + std::to_string(least));
}

void at_most(int value, int most, const char* name) {
    if (value > most)
        throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                                    "; it must be at most " + std::to_string(most));
}

/// Maximum of what counts points or steps: sums of a few of them stay far from overflow.
constexpr int max_extent = 1 << 20;

SweepOptions checked(const Tiling& tiling, SweepOptions options) {
    const Scheme& scheme = find_scheme(options.scheme);
    at_least(options.block_steps, 1, "block_steps");
    at_most(options.block_steps, max_extent, "block_steps");
    at_least(options.margin, 0, "margin");
    at_least(options.threads, 1, "threads");
    at_most(options.threads, parallel::max_threads, "threads");
    at_least(options.cache.rows, 1, "cache.rows");
    at_most(options.cache.rows, max_extent, "cache.rows");
    at_least(options.cache.columns, 1, "cache.columns");
    at_most(options.cache.columns, max_extent, "cache.columns");
    at_least(options.cache.steps, 1, "cache.steps");
    at_most(options.cache.steps, max_extent, "cache.steps");
    at_least(options.cache.strip_columns, 1, "cache.strip_columns");
    at_least(options.cache.strip_steps, 1, "cache.strip_steps");
    if (options.margin > 0 && !scheme.margins)
        throw std::invalid_argument("scheme '" + std::string(scheme.name) +
                                    "' keeps no margin current; margin must be 0");
    const int most = scheme.most_steps(tiling, options.margin);
    if (options.block_steps > most) {
        const std::string tiles = std::to_string(tiling.narrowest_x()) + " x " +
                                  std::to_string(tiling.narrowest_y()) + " points";
        throw std::invalid_argument(
            "a block of " + std::to_string(options.block_steps) +
            " steps is too long: where the smallest of the tiles has " + tiles + ", scheme '" +
            std::string(scheme.name) + "' takes " +
            (most < 1 ? "none; use fewer tiles" : "at most " + std::to_string(most)));
    }
    return options;
}

/// The tile with all that is ever read around it.
Rect box(const Tiling& tiling, const SweepOptions& options) {
    const Rect halo = shape_of(tiling).with_halo(options.block_steps + options.margin);
    return {{halo.x.begin - 1, halo.x.end + 1}, {halo.y.begin - 1, halo.y.end + 1}};
}

/// A block and the step from which it goes.
struct Turn {
    int step;
    BlockKind kind;
};

/// The blocks from `first` to `last`, in their order.
std::vector<Turn> turns(const SweepOptions& options, const Scheme& scheme, int first, int last) {
    const int low = std::min(first, last);
    const int high = std::max(first, last);
    const int blocks = (high - low + options.block_steps - 1) / options.block_steps;
    std::vector<Turn> all;
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
            // What a tile has computed of level k, it steps down from: a block goes from below its
            // highest level to the highest of the one before, and the lowest to its first.
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
      scheme_(find_scheme(options_.scheme)), levels_(box(tiling_, options_), tiling.own().x.begin),
      exchanger_(tiling.comm()), executor_(tiling, options_.cache, options_.threads),
      offered_(tiling.own()), owned_(tiling.own()) {
    // A few blocks, up and down, with all there can be.
    const int steps = 3 * options_.block_steps;
    for (const auto& [from, to] : {std::pair{0, steps}, std::pair{steps, 0}})
        for (const Turn& turn : turns(options_, scheme_, from, to)) {
            const Plan& one = plan(turn.kind);
            offered_ = around(offered_, stencil::offered(one));
            owned_ = around(owned_, intersect(stencil::offered(one), one.owned));
        }
}

const Plan& Sweep::plan(const BlockKind& kind) {
    const auto found = plans_.find(kind);
    return found != plans_.end() ? found->second
                                 : plans_.emplace(kind, scheme_.plan(tiling_, kind)).first->second;
}

void Sweep::count_exchange(const Exchange& exchange) {
    const Sent sent = count(exchange, tiling_.comm().rank());
    counters_.messages += sent.messages;
    counters_.bytes += sent.values * static_cast<std::int64_t>(sizeof(double));
}

void Sweep::move_tiles(int to) {
    const Exchange exchange = relocate(tiling_, moved_, to);
    exchanger_.start(exchange, levels_, current_);
    exchanger_.finish();
    count_exchange(exchange);
    moved_ = to;
}

void Sweep::block(int step, const BlockKind& kind, const RowUpdate& update) {
    const Plan& plan = this->plan(kind);
    if (moved_ != plan.moved)
        move_tiles(plan.moved);
    const auto idle = [this] { exchanger_.progress(); };
    const auto compute = [&](const Region& region) {
        executor_.compute(region, plan.owned, levels_, current_, step, kind.backward ? -1 : 1,
                          update, idle);
    };
    for (const Phase& phase : plan.phases) {
        exchanger_.start(phase.exchange, levels_, current_);
        compute(phase.meanwhile);
        exchanger_.finish();
        compute(phase.after);
    }
    current_ ^= plan.steps & 1;
    moved_ += plan.moves;
    for (const Phase& phase : plan.phases)
        count_exchange(phase.exchange);
    const PlanCount counted = count(plan);
    counters_.steps += plan.steps;
    counters_.blocks += 1;
    counters_.points += counted.points;
    counters_.redundant += counted.redundant;
}

void Sweep::run_rows(double* tile, std::ptrdiff_t stride, int first, int last,
                     const RowUpdate& update) {
    const Rect own = tiling_.own();
    current_ = 0;
#pragma omp parallel for num_threads(options_.threads) schedule(static)
    for (int y = own.y.begin; y < own.y.end; ++y)
        std::copy_n(tile + (y - own.y.begin) * stride, own.x.size(),
                    levels_.row(0, y) + own.x.begin);

    for (const Turn& turn : turns(options_, scheme_, first, last))
        block(turn.step, turn.kind, update);
    if (moved_ != 0)
        move_tiles(0);

#pragma omp parallel for num_threads(options_.threads) schedule(static)
    for (int y = own.y.begin; y < own.y.end; ++y)
        std::copy_n(levels_.row(current_, y) + own.x.begin, own.x.size(),
                    tile + (y - own.y.begin) * stride);
}

} // namespace uzushio::stencil
