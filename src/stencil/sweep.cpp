#include "stencil/sweep.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "stencil/shape.hpp"

namespace uzushio::stencil {

namespace {

void at_least(int value, int least, const char* name) {
    if (value < least)
        throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                                    "; it must be at least " + std::to_string(least));
}

SweepOptions checked(const Tiling& tiling, SweepOptions options) {
    const Scheme& scheme = find_scheme(options.scheme);
    at_least(options.block_steps, 1, "block_steps");
    at_least(options.margin, 0, "margin");
    at_least(options.threads, 1, "threads");
    at_least(options.cache.rows, 1, "cache.rows");
    at_least(options.cache.columns, 1, "cache.columns");
    at_least(options.cache.steps, 1, "cache.steps");
    if (options.margin > 0 && !scheme.margins)
        throw std::invalid_argument("scheme '" + std::string(scheme.name) +
                                    "' keeps no margin current; margin must be 0");
    const int most = scheme.most_steps(tiling, options.margin);
    if (options.block_steps > most) {
        const std::string tiles = std::to_string(tiling.narrowest_x()) + " x " +
                                  std::to_string(tiling.narrowest_y()) + " points";
        throw std::invalid_argument("a block of " + std::to_string(options.block_steps) +
                                    " steps needs a halo that the " + "tiles, the smallest of " +
                                    tiles + ", are too thin for: scheme '" +
                                    std::string(scheme.name) + "' takes " +
                                    (most < 1 ? "no such tiles; use fewer of them"
                                              : "at most " + std::to_string(most) + " here"));
    }
    return options;
}

} // namespace

Sweep::Sweep(const Tiling& tiling, SweepOptions options)
    : tiling_(tiling), options_(checked(tiling, std::move(options))),
      scheme_(find_scheme(options_.scheme)), levels_([&] {
          const Rect all = shape_of(tiling).with_halo(options_.block_steps + options_.margin);
          return Rect{{all.x.begin - 1, all.x.end + 1}, {all.y.begin - 1, all.y.end + 1}};
      }()),
      exchanger_(tiling.comm()), executor_(tiling, options_.cache, options_.threads),
      offered_(tiling.own()), owned_(tiling.own()) {
    for (const bool backward : {false, true})
        for (const bool odd : {false, true}) {
            const Plan& one =
                plan({options_.block_steps, options_.margin, options_.overlap, odd, backward});
            offered_ = around(offered_, one.offered);
            owned_ = around(owned_, intersect(one.offered, one.owned));
        }
}

const Plan& Sweep::plan(const BlockKind& kind) {
    const int key = 4 * kind.steps + (kind.odd ? 2 : 0) + (kind.backward ? 1 : 0);
    const auto found = plans_.find(key);
    return found != plans_.end() ? found->second
                                 : plans_.emplace(key, scheme_.plan(tiling_, kind)).first->second;
}

void Sweep::block(int step, const BlockKind& kind, const RowUpdate& update) {
    const Plan& plan = this->plan(kind);
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
    const PlanCount counted = count(plan, tiling_.comm().rank());
    counters_.steps += plan.steps;
    counters_.blocks += 1;
    counters_.messages += counted.messages;
    counters_.bytes += counted.values * static_cast<std::int64_t>(sizeof(double));
    counters_.points += counted.points;
    counters_.redundant += counted.redundant;
}

void Sweep::run_rows(double* tile, std::ptrdiff_t stride, int first, int last,
                     const RowUpdate& update) {
    const Rect own = tiling_.own();
    current_ = 0;
    for (int y = own.y.begin; y < own.y.end; ++y)
        std::copy_n(tile + (y - own.y.begin) * stride, own.x.size(),
                    levels_.row(0, y) + own.x.begin);

    const int low = std::min(first, last);
    const int high = std::max(first, last);
    const int blocks = (high - low + options_.block_steps - 1) / options_.block_steps;
    const bool backward = last < first;
    for (int i = 0; i < blocks; ++i) {
        const int index = backward ? blocks - 1 - i : i;
        const int begin = low + index * options_.block_steps;
        const int end = std::min(begin + options_.block_steps, high);
        block(backward ? end : begin,
              {end - begin, options_.margin, options_.overlap, index % 2 == 1, backward}, update);
    }

    for (int y = own.y.begin; y < own.y.end; ++y)
        std::copy_n(levels_.row(current_, y) + own.x.begin, own.x.size(),
                    tile + (y - own.y.begin) * stride);
}

} // namespace uzushio::stencil
